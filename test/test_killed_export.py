# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""An export that is killed leaves nothing or what the next one goes on with, never a wrong one."""

from __future__ import annotations

from collections.abc import Callable
import multiprocessing
from multiprocessing.synchronize import Event
from pathlib import Path
import random
import time

import h5py
import pytest

from curation.exceptions import ExportError
from curation.export.frames import export_frames
from curation.export.lerobot import export_lerobot
from curation.export.robomimic import export_robomimic
from curation.export.zarr_buffer import export_zarr
from support.filmed import make_episode

_LIMIT_S = 120


def export(name: str, out: Path) -> None:
    """Export one to three small episodes in a format, or append the last to the others."""
    episodes = [make_episode(f'e{i}', seed=i, length=60) for i in range(3)]
    if name == 'append':
        export_lerobot(episodes, out, append=True)
        return
    formats: dict[str, Callable[..., object]] = {
        'lerobot': export_lerobot, 'frames': export_frames, 'robomimic': export_robomimic,
        'zarr': export_zarr,
    }
    formats[name](episodes, out)


def child(name: str, out: Path, ready: Event) -> None:
    ready.set()
    export(name, out)


def contents(folder: Path) -> dict[str, object]:
    """Return every file by name: its bytes, or an HDF5 file's values."""
    found: dict[str, object] = {}
    for path in sorted(path for path in folder.rglob('*') if path.is_file()):
        name = str(path.relative_to(folder))
        found[name] = path.read_bytes()
        if path.suffix == '.hdf5':
            found[name] = values_of(path)
    return found


def values_of(path: Path) -> dict[str, bytes]:
    values: dict[str, bytes] = {}

    def visit(key: str, item: h5py.HLObject) -> None:
        if isinstance(item, h5py.Dataset):
            values[key] = item[()].tobytes()

    with h5py.File(path) as file:
        file.visititems(visit)
    return values


def begin(name: str, out: Path) -> None:
    if name == 'append':
        export_lerobot([make_episode(f'e{i}', seed=i, length=60) for i in range(2)], out)


def kill_at_random_moments(name: str, moments: int, tmp_path: Path) -> None:
    begin(name, tmp_path / 'whole')
    before = contents(tmp_path / 'whole')
    started = time.monotonic()
    export(name, tmp_path / 'whole')
    duration = time.monotonic() - started
    whole = contents(tmp_path / 'whole')
    rng = random.Random(7)
    context = multiprocessing.get_context('spawn')
    for number in range(moments):
        out = tmp_path / f'{number}/out'
        begin(name, out)
        ready = context.Event()
        process = context.Process(target=child, args=(name, out, ready))
        process.start()
        assert ready.wait(_LIMIT_S)
        time.sleep(rng.uniform(0, 1.1 * duration))
        process.kill()
        process.join(_LIMIT_S)
        if out.exists():
            assert contents(out) in (before, whole)
        if out.exists() and name != 'append':
            with pytest.raises(ExportError, match='exists already'):
                export(name, out)
        else:
            export(name, out)
        assert contents(out) == whole
        assert [path.name for path in out.parent.iterdir()] == ['out']


@pytest.mark.parametrize('name', ['lerobot', 'append', 'frames'])
def test_a_killed_export_is_gone_on_with(name: str, tmp_path: Path) -> None:
    kill_at_random_moments(name, 2, tmp_path)


@pytest.mark.faults
@pytest.mark.parametrize('name', ['lerobot', 'append', 'frames', 'robomimic', 'zarr'])
def test_an_export_killed_at_thirty_moments_is_never_wrong(name: str, tmp_path: Path) -> None:
    kill_at_random_moments(name, 30, tmp_path)

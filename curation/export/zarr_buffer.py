# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Aligned episodes as Diffusion Policy's replay buffer: Zarr 2 arrays, episodes end to end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from curation.align.episode import Episode
from curation.exceptions import ExportError
from curation.export.action import action_of
from curation.export.arrays import (
    ARRAY_DEFAULTS,
    ArrayOptions,
    facts_of,
    no_progress,
    Progress,
    require_alike,
)
from curation.export.features import Column, columns
from curation.export.images import shaped_frames
from curation.export.staging import staged
from teleop_bridge.exceptions import MissingDependencyError

_ROWS = 1024  # of numbers in a chunk; images have a chunk of their own each


def export_zarr(
    episodes: Sequence[Episode],
    out: Path,
    options: ArrayOptions = ARRAY_DEFAULTS,
    *,
    progress: Progress = no_progress,
) -> Path:
    """Write the Zarr folder ``out``, which must not exist, and return it.

    ``data/`` has ``state`` and ``action`` (N, n) float64, the other features, and each camera
    (N, h, w, 3) uint8; ``meta/episode_ends`` (E,) says where episodes end, and the attributes of
    ``meta`` what they are. Raises ExportError where episodes don't fit or do not read back.
    """
    try:
        import zarr
    except ImportError as error:
        raise MissingDependencyError('Zarr buffers need zarr: pip install zarr') from error
    require_alike(episodes)
    # Zarr 2, which Diffusion Policy reads, is the only format that zarr-python 2 knows
    format_2: dict[str, Any] = {'zarr_format': 2} if zarr.__version__ >= '3' else {}
    with staged(out) as folder:
        root = zarr.open_group(str(folder), mode='a', **format_2)
        ends = np.cumsum([len(episode) for episode in episodes])
        _array(root, 'meta/episode_ends', ends.astype(np.int64), len(ends))
        root['meta'].attrs['episodes'] = [facts_of(episode) for episode in episodes]
        _write_numbers(root, episodes, options)
        for camera in episodes[0].cameras:
            _write_camera(root, episodes, camera, options, progress)
        _verify(root, episodes, ends, options)
    return out


def _array(root: Any, name: str, values: Any, rows: int) -> None:
    stored = _create(root, name, values.shape, (rows, *values.shape[1:]), values.dtype)
    stored[:] = values


def _create(root: Any, name: str, shape: Any, chunks: Any, dtype: Any) -> Any:
    create = getattr(root, 'create_array', None) or root.create_dataset
    return create(name, shape=shape, chunks=chunks, dtype=dtype)


def _numbers(episode: Episode, options: ArrayOptions) -> dict[str, Any]:
    def kept(name: str, column: Column) -> bool:
        return column.dtype != 'string' and name not in ('observation.state', 'action')

    rest = {name: column.values for name, column in columns(episode).items() if kept(name, column)}
    return {'state': episode.state, 'action': action_of(episode, options.action), **rest}


def _write_numbers(root: Any, episodes: Sequence[Episode], options: ArrayOptions) -> None:
    parts = [_numbers(episode, options) for episode in episodes]
    for name in parts[0]:
        _array(root, f'data/{name}', np.concatenate([part[name] for part in parts]), _ROWS)


def _write_camera(
    root: Any, episodes: Sequence[Episode], camera: str, options: ArrayOptions, progress: Progress
) -> None:
    total = sum(len(episode) for episode in episodes)
    stored = None
    row = 0
    for episode in episodes:
        for _, image in shaped_frames(episode, camera, options.shape):
            if stored is None:
                stored = _create(
                    root, f'data/{camera}', (total, *image.shape), (1, *image.shape), np.uint8)
            stored[row] = image
            row += 1
            progress(camera, row, total)


def _verify(
    root: Any, episodes: Sequence[Episode], ends: Any, options: ArrayOptions
) -> None:
    for episode, end in zip(episodes, ends.tolist(), strict=True):
        start = end - len(episode)
        values = _numbers(episode, options)
        for name in ('state', 'action', 'timestamp_ns'):
            if not np.array_equal(root[f'data/{name}'][start:end], values[name], equal_nan=True):
                raise ExportError(f'{episode.name}: {name} does not read back as written')
        for camera in episode.cameras:
            for i in {0, len(episode) // 2, len(episode) - 1}:
                image = options.shape.apply(episode.frame(camera, i), episode.name)
                if not np.array_equal(root[f'data/{camera}'][start + i], image):
                    raise ExportError(f'{episode.name}: {camera} frame {i} does not read back')

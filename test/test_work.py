# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Work over threads, processes and a Ray cluster gives what one process gives, faults included."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
from typing import Any

import pytest
from sqlalchemy import select

from curation.catalog.database import open_catalog
from curation.catalog.tables import METADATA
from curation.cli.exits import Exit
from curation.cli.main import main
from curation.exceptions import AlignmentError, BagError
from curation.export.lerobot import export_lerobot
from curation.work import Failure, Kind, make_executor
from support.filmed import make_episode

needs_ray = pytest.mark.skipif(
    find_spec('ray') is None, reason='Ray is not installed: pip install ray')
KINDS = [Kind.SERIAL, Kind.THREADS, Kind.PROCESSES, pytest.param(Kind.RAY, marks=needs_ray)]
EPISODES = [make_episode(f'e{i}', seed=i, length=20 + i) for i in range(3)]


class UnportableError(Exception):
    """An error that can't leave its process, as those of some libraries."""

    def __init__(self, item: int, held: str) -> None:
        super().__init__(f'{item} holds {held}')


def square(item: int) -> int:
    if item == 5:
        raise BagError('bag 5 is poisoned')
    if item == 7:
        raise AlignmentError('front is stale', stream='front', time_ns=1, gap_ns=2)
    if item == 9:
        raise UnportableError(item, 'a lock')
    return item * item


def dies_once(folder: Path, item: int) -> int:
    """Kill the worker, as a lack of memory does, the first time that item 3 is tried."""
    mark = folder / 'died'
    if item == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def always_dies(item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


@pytest.fixture(scope='module')
def cluster() -> Iterator[str]:
    """Start a Ray cluster of two nodes, each a set of processes on this machine."""
    import ray
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        # the nodes' workers import what this process can
        patch.setenv('PYTHONPATH', os.pathsep.join(path for path in sys.path if path))
        two: Any = Cluster(initialize_head=True, head_node_args={'num_cpus': 1})
        two.add_node(num_cpus=1)
        yield two.address
        ray.shutdown()
        two.shutdown()


def results(kind: Kind, request: pytest.FixtureRequest, function: Any, count: int) -> list[Any]:
    address = request.getfixturevalue('cluster') if kind is Kind.RAY else ''
    executor = make_executor(kind, jobs=2, address=address)
    return list(executor.run(function, range(count)))


@pytest.mark.parametrize('kind', KINDS)
def test_a_poisoned_item_is_reported_and_the_rest_is_in_order(
    kind: Kind, request: pytest.FixtureRequest
) -> None:
    found = results(kind, request, square, 12)
    poisoned = {i: one for i, one in enumerate(found) if isinstance(one, Failure)}
    assert list(poisoned) == [5, 7, 9]
    assert isinstance(found[5].error, BagError) and str(found[5]) == 'bag 5 is poisoned'
    assert isinstance(found[7].error, AlignmentError) and found[7].error.stream == 'front'
    assert 'bag_9: ' in found[9].about('bag_9') and '9 holds a lock' in found[9].about('bag_9')
    assert all(found[i] == i * i for i in range(12) if i not in poisoned)


@pytest.mark.parametrize('kind', KINDS[2:])
def test_the_items_of_a_lost_worker_are_tried_again(
    kind: Kind, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert results(kind, request, partial(dies_once, tmp_path), 8) == list(range(8))
    assert (tmp_path / 'died').exists()


@pytest.mark.parametrize('kind', KINDS[2:])
def test_an_item_that_takes_every_worker_with_it_is_named(
    kind: Kind, request: pytest.FixtureRequest
) -> None:
    found = results(kind, request, always_dies, 6)
    assert str(found[3]) == '3: its worker was lost 3 times'
    assert [one for i, one in enumerate(found) if i != 3] == [0, 1, 2, 4, 5]


@pytest.mark.parametrize('kind', KINDS[2:])
def test_an_export_is_the_same_wherever_it_is_encoded(
    kind: Kind, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address = request.getfixturevalue('cluster') if kind is Kind.RAY else ''
    export_lerobot(EPISODES, tmp_path / 'serial', executor=make_executor(Kind.SERIAL))
    export_lerobot(
        EPISODES, tmp_path / 'other', executor=make_executor(kind, jobs=2, address=address))
    one, other = (
        {str(p.relative_to(out)): p.read_bytes() for p in out.rglob('*') if p.is_file()}
        for out in (tmp_path / 'serial', tmp_path / 'other')
    )
    assert one == other


@pytest.fixture(scope='module')
def bags(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Record two bags, and put one between them that is none."""
    pytest.importorskip('mujoco', reason='the simulated rig needs pip install mujoco')
    from recorder.headless import Attempt
    from support.simulated import simulate

    folder = tmp_path_factory.mktemp('bags')
    first, last = simulate(folder, [Attempt(seed, limit_ns=10**9) for seed in (1, 2)])
    (folder / 'torn').mkdir()
    (folder / 'torn/torn_0.mcap').write_bytes(b'no bag')
    return [str(first), str(folder / 'torn'), str(last)]


@pytest.mark.parametrize('kind', KINDS[2:])
def test_every_verb_tells_the_same_wherever_it_works(
    kind: Kind, bags: list[str], tmp_path: Path, request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = request.getfixturevalue('cluster') if kind is Kind.RAY else ''

    def tell(where: Kind) -> list[Any]:
        out = tmp_path / where.value
        told = []
        for verb in (
            ['ingest', '--catalog', f'{out}.sqlite'],
            ['check', '--no-images'],
            ['score', '--keep-going'],
            ['export', '--keep-going', '--out', str(out)],
        ):
            code = main([
                *verb, *bags, '--json', '--executor', where.value, '--jobs', '2',
                '--ray-address', address,
            ])
            assert code is Exit.BAD_DATA
            printed = capsys.readouterr()
            assert printed.err.count('torn_0.mcap: ') == 1
            told.append(json.loads(printed.out.replace(str(out), 'OUT')))
        catalog = open_catalog(f'{out}.sqlite')
        with catalog.begin() as connection:
            tables = [connection.execute(select(t)).all() for t in METADATA.sorted_tables]
        files = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob('*') if p.is_file()}
        return [told, tables, files]

    assert tell(kind) == tell(Kind.SERIAL)


@needs_ray
def test_a_missing_cluster_is_told() -> None:
    # in a process of its own, since this one may be in a cluster already
    asked = """if True:
        from curation.work import Kind, make_executor
        make_executor(Kind.RAY, address='127.0.0.1:1')
    """
    ask = [sys.executable, '-c', asked]
    done = subprocess.run(ask, capture_output=True, text=True, check=False)
    assert 'FlywheelError: ' in done.stderr.splitlines()[-1]
    assert 'expected a cluster at' in done.stderr.splitlines()[-1]

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Work over threads, processes and a Ray cluster gives what one process gives, faults included."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
import os
from pathlib import Path
import signal
import sys
from typing import Any

import pytest

from curation.exceptions import BagError
from curation.export.lerobot import export_lerobot
from curation.work import Failure, Kind, make_executor
from support.filmed import make_episode

needs_ray = pytest.mark.skipif(
    find_spec('ray') is None, reason='Ray is not installed: pip install ray')
KINDS = [Kind.SERIAL, Kind.THREADS, Kind.PROCESSES, pytest.param(Kind.RAY, marks=needs_ray)]
EPISODES = [make_episode(f'e{i}', seed=i, length=20 + i) for i in range(3)]


def square(item: int) -> int:
    if item == 5:
        raise BagError('bag 5 is poisoned')
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
    assert [type(one) for one in found].count(Failure) == 1
    assert isinstance(found[5].error, BagError) and str(found[5]) == 'bag 5 is poisoned'
    assert [one for i, one in enumerate(found) if i != 5] == [i * i for i in range(12) if i != 5]


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


@needs_ray
def test_a_missing_cluster_is_told() -> None:
    import ray

    if ray.is_initialized():
        pytest.skip('a cluster is connected already')
    from teleop_bridge.exceptions import FlywheelError

    with pytest.raises(FlywheelError, match='expected a cluster at'):
        make_executor(Kind.RAY, address='127.0.0.1:1')

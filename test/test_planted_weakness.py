# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint was never taught is found by replay, asked for by coverage, kept by scenarios.

Its people never lay the cube on the right of the mat; a copy of it with a damaged gripper loses
what it could do.
"""

from __future__ import annotations

from importlib.util import find_spec
import json
from pathlib import Path

import numpy as np
import pytest

from curation.cli.exits import Exit
from curation.cli.main import main
from curation.scores.collect_next import collect_next
from curation.scores.coverage import initial_state
from recorder.headless import Attempt, Driver, Result, Start
from recorder.headless_evaluation import Candidate, evaluate
from support.simulated import align_all, RIG_FILE, simulate, TASKS_FILE
from teleop_bridge.rig.tasks import load_tasks
from teleop_bridge.sim.places import draw_place, Place

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(
        any(find_spec(name) is None for name in ('mujoco', 'torch', 'onnx', 'onnxruntime')),
        reason='training on the simulated rig needs pip install mujoco torch onnx onnxruntime'),
]
_TAUGHT, _SHOWN = 40, 10
_ONNX = 'teleop_bridge.policy.onnx:OnnxPolicy'


def is_right(xy: tuple[float, ...]) -> bool:
    return xy[1] < -0.09


def attempts(count: int, seed: int, *, right: bool) -> list[Attempt]:
    rng = np.random.default_rng(seed)
    places: list[Place] = []
    while len(places) < count:
        place = draw_place(rng)
        if is_right(place.xy) == right:
            places.append(place)
    return [
        Attempt(seed * 1000 + i, skill='better', start=Start(place.xy, place.yaw))
        for i, place in enumerate(places)
    ]


@pytest.fixture(scope='module')
def taught(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp('taught')
    return simulate(folder, attempts(_TAUGHT, 1, right=False))


@pytest.fixture(scope='module')
def checkpoint(taught: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('policy') / 'taught.onnx'
    assert main(['train', *map(str, taught), '--out', str(out)]) is Exit.OK
    return out


def solved(checkpoint: Path, starts: list[Attempt]) -> list[Result]:
    return evaluate(
        Candidate(RIG_FILE, TASKS_FILE, 'pick_place', _ONNX, str(checkpoint)), starts)


def test_replay_points_to_the_region_and_coverage_asks_for_it(
    taught: list[Path], checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = [
        *simulate(tmp_path / 'left', attempts(_SHOWN, 2, right=False)),
        *simulate(tmp_path / 'right', attempts(_SHOWN, 2, right=True)),
    ]
    replay = ['replay', *map(str, shown), '--checkpoint', str(checkpoint), '--json']
    assert main(replay) is Exit.OK
    told = json.loads(capsys.readouterr().out)['episodes']
    medians = [np.nanmedian([p['median'] for p in one['phases'] if p['median']]) for one in told]
    known, unknown = np.array(medians[:_SHOWN]), np.array(medians[_SHOWN:])
    assert np.mean(unknown[:, None] > known) > 0.8  # how often one of there diverges more
    assert np.median(unknown) > 1.2 * np.median(known)
    states = [initial_state(episode) for episode in align_all(taught)]
    rig = align_all(taught[:1])[0].rig
    task = load_tasks(TASKS_FILE).task('pick_place')
    initial = np.array([state for _, state in states])
    asked = collect_next(initial, states[0][0], rig, task, 5)
    assert all(is_right(proposal.point) for proposal in asked)
    assert 'right' in asked[0].near


def test_a_damaged_checkpoint_is_caught_and_what_it_lost_is_named(
    taught: list[Path], checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import onnx
    from onnx import numpy_helper

    hard = [
        Attempt(90 + i, driver=Driver.POLICY, start=attempt.start, limit_ns=4_000_000_000)
        for i, attempt in enumerate(attempts(10, 3, right=False))
    ]
    library = tmp_path / 'hard.json'
    assert main(['scenarios', str(library), *map(str, simulate(tmp_path / 'b', hard))]) is Exit.OK
    capsys.readouterr()
    regress = ['regress', str(library), '--json', '--checkpoint']
    assert main([*regress, str(checkpoint)]) is Exit.OK
    good = json.loads(capsys.readouterr().out)
    could = [outcome['scenario'] for outcome in good['outcomes'] if outcome['solved']]
    assert could
    model = onnx.load(str(checkpoint))
    for tensor in model.graph.initializer:
        if tensor.name == 'output_std':
            std = numpy_helper.to_array(tensor).copy()
            std[-1] = 0.0  # the gripper no longer moves
            tensor.CopyFrom(numpy_helper.from_array(std, tensor.name))
    damaged = tmp_path / 'damaged.onnx'
    onnx.save(model, str(damaged))
    junit = tmp_path / 'regress.xml'
    assert main([*regress, str(damaged), '--junit', str(junit)]) is Exit.BAD_DATA
    bad = json.loads(capsys.readouterr().out)
    assert [lost['scenario'] for lost in bad['regressions']] == could
    assert all(name in junit.read_text() for name in could)

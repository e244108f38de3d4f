# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Behaviour cloning: from aligned episodes to a checkpoint that the policy node runs."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
import json
from pathlib import Path

import numpy as np
import pytest

from curation.align.episode import Episode
from curation.cli.exits import Exit
from curation.cli.main import main
from curation.exceptions import StreamError
from curation.train.examples import examples_of, sample_weights
from curation.train.options import TrainOptions
from recorder.headless import Attempt, Driver, Start
from support.simulated import align_all, RIG_FILE, simulate
from teleop_bridge.joints import JointSample
from teleop_bridge.policy.base import Observation
from teleop_bridge.policy.onnx import OnnxPolicy, STATE
from teleop_bridge.rig.loader import load_rig

pytestmark = pytest.mark.skipif(
    find_spec('mujoco') is None, reason='the simulated rig needs pip install mujoco'
)
needs_torch = pytest.mark.skipif(
    any(find_spec(name) is None for name in ('torch', 'onnx', 'onnxruntime')),
    reason='training needs pip install torch onnx onnxruntime',
)

OPTIONS = TrainOptions(epochs=2, hidden=16)


@pytest.fixture(scope='module')
def bags(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    attempts = [Attempt(1, start=Start((0.2, 0.0))), Attempt(4, driver=Driver.CORRECTED)]
    return simulate(tmp_path_factory.mktemp('bags'), attempts)


@pytest.fixture(scope='module')
def episodes(bags: list[Path]) -> list[Episode]:
    return align_all(bags)


def test_a_chunk_holds_the_actions_that_follow(episodes: list[Episode]) -> None:
    episode = episodes[0]
    examples = examples_of([episode], OPTIONS)
    assert episode.action is not None
    assert len(examples) == len(episode)
    assert np.array_equal(examples.chunks[10], episode.action[11 : 11 + OPTIONS.steps])
    assert examples.within[10].all()
    assert examples.within[-3].sum() == 2
    assert np.array_equal(examples.inputs[STATE][10], episode.state[10])


def test_corrections_weigh_more_and_what_teaches_nothing_weighs_nothing(
    episodes: list[Episode],
) -> None:
    episode = episodes[1]
    (intervention,) = episode.interventions
    weights, grid = sample_weights(episode, OPTIONS), episode.grid_ns
    assert intervention.converged_ns is not None and intervention.end_ns is not None
    before = (grid >= intervention.begin_ns - intervention.pre_window_ns) & (
        grid < intervention.begin_ns
    )
    handover = (grid >= intervention.begin_ns) & (grid < intervention.converged_ns)
    corrected = (grid >= intervention.converged_ns) & (grid < intervention.end_ns)
    assert before.any() and not weights[before].any()
    assert handover.any() and not weights[handover].any()
    assert set(weights[corrected]) == {OPTIONS.intervention_weight}
    assert weights[0] == 1.0
    silent = sample_weights(episode, replace(OPTIONS, autonomous_weight=0.0))
    assert not silent[episode.authority == 0.0].any() and silent[corrected].all()
    unmasked = replace(OPTIONS, mask_handover=False, mask_before_takeover=False)
    assert sample_weights(episode, unmasked).all()


def test_a_missing_input_is_named(episodes: list[Episode]) -> None:
    with pytest.raises(StreamError, match=r"no signal 'camera' to look at \(known: state"):
        examples_of(episodes, replace(OPTIONS, inputs=('camera',)))


@needs_torch
def test_a_checkpoint_computes_what_was_trained(
    episodes: list[Episode], tmp_path: Path
) -> None:
    from curation.train.fit import fit
    from curation.train.write import description, write_checkpoint

    examples = examples_of(episodes, OPTIONS)
    fitted = fit(examples, OPTIONS)
    again = fit(examples, OPTIONS)
    for (weight, bias), (weight2, bias2) in zip(fitted.layers, again.layers, strict=True):
        assert np.array_equal(weight, weight2) and np.array_equal(bias, bias2)
    path = tmp_path / 'policy.onnx'
    write_checkpoint(fitted, description(fitted, examples, OPTIONS, 'abc'), path)
    policy = OnnxPolicy(load_rig(RIG_FILE), str(path))
    row = 20
    values = {name: examples.inputs[name][row] for name in OPTIONS.inputs}
    joints = examples.inputs[STATE][row]
    state = JointSample(examples.names[STATE], joints, 7)
    chunk = policy.propose(Observation(7, state, values))
    x = np.concatenate([fitted.inputs[n].normalise(examples.inputs[n][row]) for n in fitted.order])
    for index, (weight, bias) in enumerate(fitted.layers):
        x = weight @ x + bias
        x = np.maximum(x, 0) if index < len(fitted.layers) - 1 else x
    moves = x.reshape(OPTIONS.steps, -1) * fitted.output.std + fitted.output.mean
    assert chunk.positions == pytest.approx(joints + moves, abs=1e-5)
    assert (chunk.times_ns == 7 + OPTIONS.step_ns * np.arange(1, OPTIONS.steps + 1)).all()
    assert policy.period_ns == OPTIONS.executed * OPTIONS.step_ns


@needs_torch
def test_the_verb_trains(
    bags: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'policy.onnx'
    arguments = ['train', *map(str, bags), '--out', str(out), '--epochs', '1']
    assert main([*arguments, '--json']) is Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert told['episodes'] == 2 and out.exists() and len(told['manifest']) == 64
    assert main(arguments) is Exit.BAD_DATA  # it is never overwritten
    assert main([*arguments[:-4], '--out', str(tmp_path / 'x'), '--executed', '99']) is (
        Exit.BAD_DATA
    )

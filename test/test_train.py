# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Behaviour cloning: from aligned episodes to a checkpoint that the policy node runs."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
import pytest

from curation.align.episode import Episode
from curation.cli.exits import Exit
from curation.cli.main import main
from curation.exceptions import StreamError
from curation.manifests.file import Entry, Manifest, save
from curation.manifests.models import read_models
from curation.manifests.weights import sample_weights, WeightOptions
from curation.replay.divergence import measure_spread, observation_at, replay
from curation.train.examples import Examples, examples_of
from curation.train.options import TrainOptions
from recorder.headless import Attempt, Driver, Start
from support.simulated import align_all, RIG_FILE, simulate
from teleop_bridge.joints import JointSample
from teleop_bridge.policy.base import Observation
from teleop_bridge.policy.onnx import OnnxPolicy, STATE
from teleop_bridge.rig.loader import load_rig

if TYPE_CHECKING:
    from curation.train.fit import Fitted

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
    weights, grid = sample_weights(episode, OPTIONS.weights), episode.grid_ns
    assert intervention.converged_ns is not None and intervention.end_ns is not None
    before = (grid >= intervention.begin_ns - intervention.pre_window_ns) & (
        grid < intervention.begin_ns
    )
    handover = (grid >= intervention.begin_ns) & (grid < intervention.converged_ns)
    corrected = (grid >= intervention.converged_ns) & (grid < intervention.end_ns)
    assert before.any() and not weights[before].any()
    assert handover.any() and not weights[handover].any()
    assert set(weights[corrected]) == {OPTIONS.weights.intervention}
    assert weights[0] == 0.0  # what the policy did by itself
    assert sample_weights(episodes[0], OPTIONS.weights)[0] == 1.0
    heard = sample_weights(episode, WeightOptions(autonomous=0.5))
    assert heard[0] == 0.5 and set(heard[corrected]) == {OPTIONS.weights.intervention}
    unmasked = WeightOptions(mask_handover=False, mask_before_s=0.0, autonomous=1.0)
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
def test_what_the_policy_did_by_itself_can_be_left_out(
    bags: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def trained(name: str, weight: str) -> float:
        out = ['--out', str(tmp_path / name), '--epochs', '1', '--json']
        assert main(['train', *map(str, bags), *out, '--autonomous-weight', weight]) is Exit.OK
        loss: float = json.loads(capsys.readouterr().out)['train_loss']
        return loss

    assert trained('without', '0') != trained('with', '1')


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


@needs_torch
def test_a_manifest_chooses_weighs_and_is_registered(
    bags: list[Path], episodes: list[Episode], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [_entry(e, weight) for e, weight in zip(episodes, (0.5, 2.0), strict=True)]
    frozen = Manifest('both', {'weights': WeightOptions().document()}, tuple(entries))
    path = tmp_path / 'manifests/both.json'
    save(frozen, path)
    out = tmp_path / 'policy.onnx'
    train = ['train', str(bags[0].parent), '--epochs', '1', '--manifest', str(path)]
    catalog = str(tmp_path / 'catalog.sqlite')
    assert main(['ingest', str(bags[0].parent), '--catalog', catalog]) is Exit.OK
    capsys.readouterr()
    assert main([*train, '--out', str(out), '--register', str(tmp_path), '--json']) is Exit.OK
    assert json.loads(capsys.readouterr().out)['manifest'] == frozen.hash
    (model,) = read_models(tmp_path)
    assert (model.file, model.manifest) == ('policy.onnx', frozen.hash)
    lineage = ['manifest', 'lineage', str(tmp_path), '--checkpoint', model.checkpoint[:12]]
    assert main([*lineage, '--json']) is Exit.OK
    assert [row['episode'] for row in json.loads(capsys.readouterr().out)] == [
        entry.id for entry in entries
    ]
    assert main([*train, '--split', 'val', '--out', str(tmp_path / 'no')]) is Exit.BAD_DATA
    assert "no episode in split 'val'" in capsys.readouterr().err
    weighed = examples_of(episodes, OPTIONS, {entry.id: entry.weight for entry in entries})
    plain = examples_of(episodes, OPTIONS)
    factors = np.where(plain.episode == 0, 0.5, 2.0)
    assert np.array_equal(weighed.weights, plain.weights * factors)


@needs_torch
def test_a_bag_that_changed_since_it_was_frozen_is_named(
    bags: list[Path], episodes: list[Episode], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = replace(_entry(episodes[0], 1.0), id='0' * 64)
    path = tmp_path / 'old.json'
    save(Manifest('old', {'weights': WeightOptions().document()}, (entry,)), path)
    arguments = ['train', *map(str, bags), '--manifest', str(path), '--out', str(tmp_path / 'x')]
    assert main(arguments) is Exit.BAD_DATA
    told = capsys.readouterr().err
    assert f'expected content {"0" * 12} as frozen, found {episodes[0].id[:12]}' in told
    assert not (tmp_path / 'x').exists()


@needs_torch
def test_only_the_split_train_is_trained_on_unless_another_is_named(
    bags: list[Path], episodes: list[Episode], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [_entry(episode, 1.0) for episode in episodes]
    chosen_by = {'weights': WeightOptions().document()}
    train = ['train', str(bags[0].parent), '--epochs', '1']

    def frozen(name: str, *splits: str) -> list[str]:
        dealt = [replace(e, split=split) for e, split in zip(entries, splits, strict=True)]
        save(Manifest(name, chosen_by, tuple(dealt)), tmp_path / name)
        return ['--manifest', str(tmp_path / name)]

    def trained(name: str, *arguments: str) -> int:
        out = ['--out', str(tmp_path / f'{name}.onnx'), '--json']
        assert main([*train, *arguments, *out]) is Exit.OK
        return int(json.loads(capsys.readouterr().out)['episodes'])

    held_out = frozen('held out', 'train', 'test')
    assert trained('usual', *held_out) == 1
    assert trained('named', *held_out, '--split', 'test') == 1
    assert trained('all', *held_out, '--split', '') == 2
    out = ['--out', str(tmp_path / 'x.onnx')]
    assert main([*train, *frozen('others', 'fit', 'val'), *out]) is Exit.BAD_DATA
    assert "no episode in split 'train', found fit, val (--split" in capsys.readouterr().err
    assert main([*train, '--split', '', *out]) is Exit.USAGE
    assert '--split: expected with --manifest' in capsys.readouterr().err


def _entry(episode: Episode, weight: float) -> Entry:
    return Entry(
        id=episode.id, split='train', weight=weight, name=episode.name, task='pick_place',
        grade='', operator='', session='', rig='', checkpoint='', source='', cluster=episode.id,
    )


@needs_torch
def test_a_camera_is_seen_as_training_saw_it(tmp_path: Path) -> None:
    from curation.train.fit import fit
    from curation.train.write import description, write_checkpoint

    attempt = Attempt(1, limit_ns=300_000_000)
    (episode,) = align_all(simulate(tmp_path / 'bags', [attempt], cameras=(160, 120)))
    options = replace(OPTIONS, camera='front', inputs=('load',))
    examples = examples_of([episode], options)
    assert examples.images is not None
    assert examples.images.pixels.shape == (len(examples), 3, 30, 40)
    fitted = fit(examples, options)
    path = tmp_path / 'policy.onnx'
    write_checkpoint(fitted, description(fitted, examples, options, ''), path)
    policy = OnnxPolicy(episode.rig, str(path))
    assert set(policy.inputs) == {'load', 'front'}
    spread = measure_spread([episode])
    assert np.isfinite(replay(policy, episode, spread).worst[:5]).all()
    row = 3
    seen = observation_at(policy, episode, row)
    assert seen is not None
    found = policy.propose(seen).positions
    assert found == pytest.approx(_by_torch(fitted, examples, row), abs=2e-5)
    darker = {**seen.values, 'front': np.zeros_like(seen.values['front'])}
    other = policy.propose(replace(seen, values=darker)).positions
    assert np.abs(other - found).max() > 1e-4


def _by_torch(fitted: Fitted, examples: Examples, row: int) -> NDArray[np.float64]:
    """Compute a chunk by torch from the pooled frame, rounded to whole numbers as it is."""
    import torch

    assert examples.images is not None and fitted.image is not None
    mean, std = (v.reshape(3, 1, 1) for v in (fitted.image.mean, fitted.image.std))
    image = torch.from_numpy((examples.images.pixels[row] - mean) / std).float()[None]
    for weight, bias in fitted.eye:
        image = torch.relu(
            torch.conv2d(
                image, torch.from_numpy(weight), torch.from_numpy(bias), 2, weight.shape[2] // 2
            )
        )
    parts = [fitted.inputs[n].normalise(examples.inputs[n][row]) for n in fitted.order]
    x = np.concatenate([*parts, image.flatten().numpy()])
    for index, (weight, bias) in enumerate(fitted.layers):
        x = weight @ x + bias
        x = np.maximum(x, 0) if index < len(fitted.layers) - 1 else x
    steps = x.reshape(-1, len(examples.names[STATE]))
    moves = steps * fitted.output.std + fitted.output.mean
    return np.asarray(examples.inputs[STATE][row] + moves)

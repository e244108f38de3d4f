# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""ONNX checkpoints: run as they say of themselves, refused where they don't fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip('onnx', reason='onnx is not installed')
pytest.importorskip('onnxruntime', reason='onnxruntime is not installed')

from teleop_bridge.joints import JointSample  # noqa: E402
from teleop_bridge.policy.base import load_policy, Observation, PolicyError  # noqa: E402
from teleop_bridge.policy.player import PolicyPlayer  # noqa: E402
from teleop_bridge.rig.loader import parse_rig  # noqa: E402

MS = 1_000_000
RIG = parse_rig("""
rig: two joints
joints: {a: {}, b: {}}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}
  cube: {topic: cube, type: geometry_msgs/msg/PoseStamped, role: pose, max_age_ms: 50}
""")
PLUGIN = 'teleop_bridge.policy.onnx:OnnxPolicy'
SAYS = {
    'joints': ['a', 'b'],
    'inputs': {'observation': 'state', 'object': 'cube'},
    'normalisation': {
        'observation': {'mean': [1, 1], 'std': [2, 2]},
        'object': {'mean': [0] * 7, 'std': [1] * 7},
    },
    'step_ns': 20 * MS,
    'period_ns': 60 * MS,
    'action_mean': [10, 20],
    'action_std': [1, 2],
}

STILL = {**SAYS['normalisation'], 'object': {'mean': [0] * 7, 'std': [0] * 7}}


def write_model(
    path: Path, says: dict[str, Any] | None, *, wide: int = 2, factor: float = 0.0
) -> str:
    """Write a model that answers four times the normalised state."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    shape = helper.make_tensor('shape', onnx.TensorProto.INT64, [3], [1, 1, wide])
    tiles = helper.make_tensor('tiles', onnx.TensorProto.INT64, [3], [1, 4, 1])
    nodes = [
        helper.make_node('Mul', ['object', 'factor'], ['nothing']),
        helper.make_node('ReduceSum', ['nothing'], ['none'], keepdims=0),
        helper.make_node('Add', ['observation', 'none'], ['same']),
        helper.make_node('Reshape', ['same', 'shape'], ['row']),
        helper.make_node('Tile', ['row', 'tiles'], ['actions']),
    ]
    graph = helper.make_graph(
        nodes,
        'four',
        [
            helper.make_tensor_value_info('observation', kind, [1, 2]),
            helper.make_tensor_value_info('object', kind, [1, 7]),
        ],
        [helper.make_tensor_value_info('actions', kind, None)],
        [shape, tiles, helper.make_tensor('factor', kind, [], [factor])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8)
    if says is not None:
        onnx.helper.set_model_props(model, {'flywheel': json.dumps(says)})
    onnx.save(model, str(path))
    return str(path)


def observation(state: list[float], now_ns: int = 1_000 * MS) -> Observation:
    sample = JointSample(('a', 'b'), np.array(state), now_ns)
    return Observation(now_ns, sample, {'cube': np.zeros(7)}, {'cube': now_ns})


def test_a_checkpoint_runs_as_its_metadata_says(tmp_path: Path) -> None:
    policy = load_policy(PLUGIN, RIG, write_model(tmp_path / 'p.onnx', SAYS))
    assert policy.inputs == ('cube',)
    assert len(policy.checkpoint) == 64
    chunk = policy.propose(observation([3.0, 5.0]))
    assert chunk.times_ns.tolist() == [(1_000 + 20 * i) * MS for i in (1, 2, 3, 4)]
    assert chunk.positions == pytest.approx(np.tile([[11.0, 24.0]], (4, 1)))


def test_a_checkpoint_plays_under_the_policy_node_s_player(tmp_path: Path) -> None:
    player = PolicyPlayer(load_policy(PLUGIN, RIG, write_model(tmp_path / 'p.onnx', SAYS)), RIG)
    proposal = player.step(observation([3.0, 5.0]), 1_000 * MS)
    assert proposal is not None and proposal.positions == pytest.approx([11.0, 24.0])


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'joints': ['a', 'c']}, r"made for joints \['a', 'c'\], the rig has \['a', 'b'\]"),
        ({'normalisation': {'object': SAYS['normalisation']['object']}}, "normalisation of 'obs"),
        ({'inputs': {'observation': 'state', 'object': 'sphere'}}, "the stream 'sphere', which"),
        ({'inputs': {'observation': 'state'}}, "its inputs are .'object', 'observation'., its"),
        ({'step_ns': 'soon'}, 'its metadata is broken'),
        (
            {'normalisation': {**SAYS['normalisation'], 'object': {'mean': [0], 'std': [1]}}},
            "input 'object' takes 7 values, its normalisation has 1 means and 1 deviations",
        ),
        (
            {'normalisation': STILL},
            "the deviations of 'object' must be above 0",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = write_model(tmp_path / 'p.onnx', {**SAYS, **change})
    with pytest.raises(PolicyError, match=message):
        load_policy(PLUGIN, RIG, path)


def test_a_model_without_metadata_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="its metadata lacks 'action_mean'"):
        load_policy(PLUGIN, RIG, write_model(tmp_path / 'p.onnx', None))


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / 'p.onnx').write_bytes(b'not a model')
    with pytest.raises(PolicyError, match='p.onnx: expected an ONNX model'):
        load_policy(PLUGIN, RIG, str(tmp_path / 'p.onnx'))
    with pytest.raises(PolicyError, match='none.onnx: checkpoint cannot be read'):
        load_policy(PLUGIN, RIG, str(tmp_path / 'none.onnx'))


def test_an_output_of_another_shape_is_named(tmp_path: Path) -> None:
    path = write_model(tmp_path / 'p.onnx', SAYS, wide=1)
    with pytest.raises(PolicyError, match=r'expected actions of shape \(1, k, 2\)|Reshape'):
        load_policy(PLUGIN, RIG, path)


def test_outputs_that_are_not_finite_are_refused_before_anything_moves(tmp_path: Path) -> None:
    path = write_model(tmp_path / 'p.onnx', SAYS, factor=float('nan'))
    with pytest.raises(PolicyError, match='expected finite actions, found NaN'):
        load_policy(PLUGIN, RIG, path)


def test_outputs_that_stop_being_finite_are_refused(tmp_path: Path) -> None:
    policy = load_policy(PLUGIN, RIG, write_model(tmp_path / 'p.onnx', SAYS))
    with pytest.raises(PolicyError, match='expected finite actions'):
        policy.propose(observation([3.0, np.inf]))

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Policies: chunks played in time, stale inputs refused, nonsense named."""

from __future__ import annotations

import numpy as np
import pytest

from teleop_bridge.joints import JointSample
from teleop_bridge.policy.base import ActionChunk, load_policy, Observation, PolicyError
from teleop_bridge.policy.player import PolicyPlayer
from teleop_bridge.rig.loader import parse_rig

MS = 1_000_000
RIG = parse_rig("""
rig: two joints
joints: {a: {}, b: {}}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}
  wrist: {topic: wrist, type: sensor_msgs/msg/Image, role: camera, max_age_ms: 40}
follower: {max_age_ms: 50}
""")


class Reach:
    """Proposes a straight way of two joints over 200 ms."""

    inputs = ('wrist',)
    checkpoint = 'none'
    period_ns = 100 * MS

    def __init__(self, rig: object = RIG, checkpoint: str = '') -> None:
        self.asked = 0
        self.positions = np.array([[0.0, 0.0], [1.0, 2.0]])
        self.times = [0, 200 * MS]

    def reset(self) -> None:
        self.asked = 0

    def propose(self, observation: Observation) -> ActionChunk:
        self.asked += 1
        times = observation.stamp_ns + np.array(self.times)
        return ActionChunk(times, self.positions, confidence=0.7)


def observation(now_ns: int, *, state_age: int = 0, wrist_age: int = 0) -> Observation:
    state = JointSample(('a', 'b'), np.zeros(2), now_ns - state_age)
    return Observation(now_ns, state, {}, {'wrist': now_ns - wrist_age})


def test_a_chunk_is_interpolated_and_ends_with_its_last_time() -> None:
    player = PolicyPlayer(Reach(), RIG)
    first = player.step(observation(0), 0)
    later = player.step(None, 50 * MS)
    assert first is not None and first.positions == pytest.approx([0, 0])
    assert later is not None and later.positions == pytest.approx([0.25, 0.5])
    assert later.stamp_ns == 50 * MS
    assert player.confidence == 0.7
    assert player.step(None, 200 * MS) is not None
    assert player.step(None, 201 * MS) is None


def test_the_policy_is_asked_at_its_own_period() -> None:
    policy = Reach()
    player = PolicyPlayer(policy, RIG)
    for now in range(0, 500 * MS, 10 * MS):
        player.step(observation(now), now)
    assert policy.asked == 5


@pytest.mark.parametrize(
    ('ages', 'stream'), [({'state_age': 51 * MS}, 'state'), ({'wrist_age': 41 * MS}, 'wrist')]
)
def test_a_stale_input_is_counted_and_never_fed(ages: dict[str, int], stream: str) -> None:
    policy = Reach()
    player = PolicyPlayer(policy, RIG)
    assert player.step(observation(0, **ages), 0) is None
    assert policy.asked == 0
    assert player.refused == {stream: 1}


@pytest.mark.parametrize(
    ('positions', 'times', 'message'),
    [
        (np.array([[0.0, np.nan], [0.0, 0.0]]), [0, 1], "not finite for 'b'"),
        (np.zeros((2, 3)), [0, 1], r'shape \(2, 3\) for 2 times and 2 joints'),
        (np.zeros((2, 2)), [5, 5], 'times that do not increase'),
        (np.zeros((0, 2)), [], 'for 0 times'),
    ],
)
def test_nonsense_is_named(positions: np.ndarray, times: list[int], message: str) -> None:
    policy = Reach()
    policy.positions, policy.times = positions, times
    with pytest.raises(PolicyError, match=message):
        PolicyPlayer(policy, RIG).step(observation(0), 0)


def test_a_policy_that_is_not_there_is_named() -> None:
    with pytest.raises(PolicyError, match="policy 'nowhere:Policy': expected module:Class"):
        load_policy('nowhere:Policy', RIG)

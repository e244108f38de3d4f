# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The follower's core: blending, limits, holding, takeovers, stops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from teleop_bridge.follower import CONVERGED_RAD, FollowerCore, FollowerOutput
from teleop_bridge.joints import JointSample
from teleop_bridge.rig.loader import parse_rig
from teleop_bridge.rig.schema import Rig
from teleop_bridge.vocabulary import Phase

MS = 1_000_000
PERIOD = 10 * MS
RIG = """
rig: two joints
joints:
  a: {lower: -2, upper: 2, velocity: 4, acceleration: 40}
  b: {lower: -1, upper: 1, velocity: 4, acceleration: 40}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}
follower: {rate_hz: 100, ramp_ms: 150, max_age_ms: 50}
"""


def rig(**follower: object) -> Rig:
    base = parse_rig(RIG)
    return replace(base, follower=replace(base.follower, **follower))


def unlimited() -> Rig:
    base = rig(startup_velocity=np.inf)
    joints = tuple(replace(j, velocity=np.inf, acceleration=np.inf) for j in base.joints)
    return replace(base, joints=joints)


class Loop:
    """A core stepped at its rate by proposals that are functions of time in seconds."""

    def __init__(
        self,
        core: FollowerCore,
        human: Callable[[float], float] | None = None,
        policy: Callable[[float], float] | None = None,
        start: float = 0.0,
    ) -> None:
        self.core, self.human, self.policy = core, human, policy
        self.now = 0
        core.measured(self.sample(start))

    def sample(self, value: float) -> JointSample:
        return JointSample(('a', 'b'), np.array([value, value / 2]), self.now)

    def run(self, periods: int) -> list[FollowerOutput]:
        outputs = []
        for _ in range(periods):
            if self.human is not None:
                self.core.human(self.sample(self.human(self.now / 1e9)))
            if self.policy is not None:
                self.core.policy(self.sample(self.policy(self.now / 1e9)))
            output = self.core.step(self.now)
            outputs.append(output)
            if output.command is not None:
                self.core.measured(JointSample(('a', 'b'), output.command, self.now))
            self.now += PERIOD
        return outputs


def commands(outputs: list[FollowerOutput]) -> np.ndarray:
    return np.array([output.command for output in outputs])


def test_nothing_moves_before_the_follower_is_measured() -> None:
    core = FollowerCore(rig())
    output = core.step(0)
    assert output.command is None and output.phase is Phase.HOLD
    assert output.reason == 'the follower has not been measured yet'


def test_a_motion_within_limits_is_followed_exactly() -> None:
    loop = Loop(FollowerCore(rig()), human=lambda t: 0.5 * np.sin(2 * t))
    outputs = loop.run(300)
    wanted = 0.5 * np.sin(2 * np.array([output.stamp_ns for output in outputs]) / 1e9)
    assert outputs[-1].phase is Phase.HUMAN and outputs[-1].source == 'human'
    assert np.abs(commands(outputs)[100:, 0] - wanted[100:]).max() < 1e-9


def test_the_start_is_an_approach_at_its_own_speed() -> None:
    loop = Loop(FollowerCore(rig(startup_velocity=0.5)), human=lambda t: 0.8)
    outputs = loop.run(250)
    speed = np.abs(np.diff(commands(outputs)[:, 0])) / 0.01
    assert outputs[10].phase is Phase.STARTUP
    assert outputs[-1].phase is Phase.HUMAN
    assert speed.max() <= 0.5 + 1e-9


def test_a_leader_too_far_away_at_the_start_is_refused() -> None:
    loop = Loop(FollowerCore(rig(startup_max_distance=0.5)), human=lambda t: 0.8)
    outputs = loop.run(20)
    assert commands(outputs) == pytest.approx(0.0)
    assert outputs[-1].phase is Phase.HOLD
    assert "joint 'a' is 0.80 from its source, more than 0.50" in outputs[-1].reason


@pytest.mark.parametrize('to_human', [True, False])
def test_a_handover_has_no_jump_and_its_end_is_told(to_human: bool) -> None:
    core = FollowerCore(unlimited(), human_first=not to_human)
    loop = Loop(core, human=lambda t: 0.2, policy=lambda t: 0.0, start=0.0 if to_human else 0.2)
    loop.run(20)
    switch_ns = loop.now
    core.take_over('i1', loop.now) if to_human else core.hand_back(loop.now)
    outputs = loop.run(40)
    moves = np.diff(commands(outputs)[:, 0])
    hard_switch = 0.2
    assert np.abs(np.diff(moves)).max() < hard_switch / 20
    ended = [output for output in outputs if output.handover_ended]
    assert len(ended) == 1
    assert ended[0].stamp_ns == switch_ns + 150 * MS
    assert not outputs[0].converged and outputs[-1].converged
    assert outputs[5].phase is (Phase.TO_HUMAN if to_human else Phase.TO_POLICY)
    assert outputs[5].source == 'blend'
    assert outputs[5].intervention_id == ('i1' if to_human else '')


def test_a_handover_lasts_as_long_as_limits_drag_on() -> None:
    base = rig(startup_velocity=0.5)
    slow = replace(base, joints=tuple(replace(j, velocity=0.5) for j in base.joints))
    core = FollowerCore(slow, human_first=False)
    loop = Loop(core, human=lambda t: 0.5, policy=lambda t: 0.0)
    loop.run(20)
    start = loop.now
    core.take_over('i1', loop.now)
    outputs = loop.run(200)
    (end,) = [output.stamp_ns for output in outputs if output.handover_ended]
    assert end - start > 900 * MS  # 0.5 rad at 0.5 rad/s, though the weight was there after 150 ms
    assert outputs[20].weight == 1.0 and not outputs[20].converged


def test_turning_round_in_mid_ramp_is_smooth_too() -> None:
    core = FollowerCore(unlimited(), human_first=False)
    loop = Loop(core, human=lambda t: 0.2, policy=lambda t: 0.0)
    loop.run(20)
    core.take_over('i1', loop.now)
    first = loop.run(7)
    core.hand_back(loop.now)
    values = commands(first + loop.run(40))[:, 0]
    assert np.abs(np.diff(values, n=2)).max() < 0.2 / 20
    assert values[-1] == pytest.approx(0.0)


def test_every_limit_is_kept_through_a_handover_between_moving_sources() -> None:
    core = FollowerCore(rig(startup_velocity=4.0), human_first=False)
    loop = Loop(core, human=lambda t: 1.9 * np.sin(3 * t), policy=lambda t: 3 * np.cos(2 * t))
    values = []
    for turn in range(12):
        values += loop.run(37)
        core.take_over(f'i{turn}', loop.now) if turn % 2 == 0 else core.hand_back(loop.now)
    positions = commands(values)
    rates = np.diff(positions, axis=0) / 0.01
    assert positions.max() <= 2 and positions[:, 1].max() <= 1
    assert np.abs(rates).max() <= 4 + 1e-9
    assert np.abs(np.diff(rates, axis=0)).max() / 0.01 <= 40 + 1e-6


def test_a_joint_without_position_limits_keeps_the_others() -> None:
    base = rig(startup_velocity=4.0)
    joints = tuple(replace(joint, lower=-np.inf, upper=np.inf) for joint in base.joints)
    loop = Loop(FollowerCore(replace(base, joints=joints)), human=lambda t: 20.0)
    positions = commands(loop.run(200))
    rates = np.diff(positions, axis=0) / 0.01
    assert np.isfinite(positions).all() and positions[-1, 0] > 6
    assert np.abs(rates).max() <= 4 + 1e-9
    assert np.abs(np.diff(rates, axis=0)).max() / 0.01 <= 40 + 1e-6


def test_an_offset_takeover_leaves_the_follower_where_it_is() -> None:
    core = FollowerCore(rig(takeover='offset', startup_velocity=4.0), human_first=False)
    loop = Loop(core, human=lambda t: 0.4, policy=lambda t: 0.1)
    loop.run(60)
    core.take_over('i1', loop.now)
    assert commands(loop.run(60))[:, 0] == pytest.approx(0.1)
    moved_at = loop.now / 1e9
    loop.human = lambda t: 0.4 + min(0.1, 0.2 * (t - moved_at))
    assert commands(loop.run(80))[-1, 0] == pytest.approx(0.2)


def test_an_align_first_takeover_waits_for_the_leader() -> None:
    core = FollowerCore(rig(takeover='align_first', startup_velocity=4.0), human_first=False)
    loop = Loop(core, human=lambda t: 0.4, policy=lambda t: 0.1)
    loop.run(60)
    core.take_over('i1', loop.now)
    assert {output.phase for output in loop.run(30)} == {Phase.POLICY}
    loop.human = lambda t: 0.1
    outputs = loop.run(40)
    assert outputs[-1].phase is Phase.HUMAN and outputs[-1].intervention_id == 'i1'
    assert commands(outputs)[:, 0] == pytest.approx(0.1, abs=CONVERGED_RAD)


def test_a_silent_leader_is_held_within_one_period_after_its_age() -> None:
    loop = Loop(FollowerCore(rig()), human=lambda t: 0.5 * t)
    loop.run(100)
    last_stamp = loop.now - PERIOD
    loop.human = None
    outputs = loop.run(60)
    first_hold = next(output for output in outputs if output.phase is Phase.HOLD)
    assert first_hold.stamp_ns - last_stamp <= 50 * MS + PERIOD
    assert 'the leader is stale: its last command is 60 ms old' == first_hold.reason
    assert commands(outputs)[10:, 0] == pytest.approx(commands(outputs)[-1, 0])


@pytest.mark.parametrize('step_ns', [-3_600 * 10**9, 3_600 * 10**9])
def test_a_leader_on_another_clock_is_held_at_once(step_ns: int) -> None:
    loop = Loop(FollowerCore(rig()), human=lambda t: 0.0)
    loop.run(100)
    loop.human = None
    loop.core.human(JointSample(('a', 'b'), np.array([1.0, 0.5]), loop.now + step_ns))
    (output,) = loop.run(1)
    assert output.phase is Phase.HOLD
    assert 'in the future' in output.reason or 'is stale' in output.reason
    assert commands([output])[0, 0] == pytest.approx(0.0)


def test_a_leader_that_comes_back_elsewhere_is_approached_slowly() -> None:
    loop = Loop(FollowerCore(rig(startup_velocity=0.5)), human=lambda t: 0.0)
    loop.run(100)
    loop.human = None
    loop.run(30)
    loop.human = lambda t: 1.0
    outputs = loop.run(300)
    assert outputs[0].phase is Phase.STARTUP
    assert np.abs(np.diff(commands(outputs)[:, 0])).max() / 0.01 <= 0.5 + 1e-9
    assert outputs[-1].phase is Phase.HUMAN


def test_a_policy_that_dies_holds_and_a_takeover_ends_the_hold() -> None:
    core = FollowerCore(rig(startup_velocity=4.0), human_first=False)
    loop = Loop(core, human=lambda t: 0.1, policy=lambda t: 0.1)
    loop.run(40)
    loop.policy = None
    assert loop.run(20)[-1].reason.startswith('the policy is stale')
    core.take_over('i1', loop.now)
    assert loop.run(60)[-1].phase is Phase.HUMAN


def test_an_emergency_stop_latches_until_reset() -> None:
    core = FollowerCore(rig(startup_velocity=0.5))
    loop = Loop(core, human=lambda t: 0.4 * t)
    loop.run(100)
    core.estop()
    outputs = loop.run(100)
    assert {output.phase for output in outputs} == {Phase.ESTOP}
    assert commands(outputs)[5:, 0] == pytest.approx(commands(outputs)[-1, 0])
    core.reset()
    loop.human = lambda t: 0.8
    after = loop.run(300)
    assert after[0].phase is Phase.STARTUP and after[-1].phase is Phase.HUMAN
    assert np.abs(np.diff(commands(after)[:, 0])).max() / 0.01 <= 0.5 + 1e-9


def test_the_command_never_leads_a_blocked_follower_by_more_than_allowed() -> None:
    core = FollowerCore(rig(max_lead=0.15, startup_velocity=4.0))
    loop = Loop(core, human=lambda t: min(1.0, t))
    loop.run(50)
    blocked = 0.5
    for _ in range(100):
        core.human(loop.sample(1.0))
        core.measured(loop.sample(blocked))
        output = core.step(loop.now)
        loop.now += PERIOD
    assert output.command is not None
    assert output.command[0] == pytest.approx(blocked + 0.15)


def test_a_silent_follower_is_held_and_taken_anew_where_it_comes_back() -> None:
    core = FollowerCore(rig(startup_velocity=0.5))
    loop = Loop(core, human=lambda t: 0.3)
    loop.run(150)
    for _ in range(120):
        core.human(loop.sample(0.3))
        output = core.step(loop.now)
        loop.now += PERIOD
    assert output.phase is Phase.HOLD
    assert output.reason.startswith('the follower is stale: its last state is')
    sagged = -0.2
    core.measured(loop.sample(sagged))
    outputs = loop.run(200)
    assert outputs[0].phase is Phase.STARTUP
    assert commands(outputs)[0, 0] == pytest.approx(sagged, abs=0.01)
    assert np.abs(np.diff(commands(outputs)[:, 0])).max() / 0.01 <= 0.5 + 1e-9
    assert outputs[-1].phase is Phase.HUMAN

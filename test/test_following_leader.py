# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A leader with torque follows while a policy drives, and lets go over the ramp of a takeover."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
import time

import numpy as np
import pytest

from support.live import new_domain, node, wait_until
from support.servo_emulator import FeetechProtocol, ServoEmulator
from teleop_bridge.bus.calibration import Calibration, save_calibration, ServoCalibration
from teleop_bridge.bus.following import FollowingLeader
from teleop_bridge.bus.models import FEETECH_STS
from teleop_bridge.mapping import LeaderMapping
from teleop_bridge.rig.loader import parse_rig

MS = 1_000_000
RIG = """
rig: follows
joints: {{pan: {{}}, grip: {{kind: gripper}}}}
leader: {{mapping: {{pan: {{source: lead_pan, sign: -1, offset: 0.1}},
                   grip: {{source: lead_grip, scale: 2}}}}}}
streams:
  leader: {{topic: leader/joint_states, type: sensor_msgs/msg/JointState, role: leader,
           max_age_ms: 2000}}
  human: {{topic: leader/command, type: sensor_msgs/msg/JointState, role: human_proposal,
          max_age_ms: 2000}}
  action: {{topic: follower/command, type: sensor_msgs/msg/JointState, role: action,
           max_age_ms: 2000}}
  authority: {{topic: authority, type: teleop_flywheel/msg/Authority, role: authority,
              max_age_ms: 2000}}
follower: {{max_age_ms: 2000}}
devices:
  leader: {{bus: feetech_sts, port: {port}, calibration: arm.yaml, rate_hz: 50,
           reply_timeout_ms: 200, follow_torque: 0.4, follow_speed: 5}}
"""
POSITION, GOAL = FEETECH_STS.present_position, FEETECH_STS.goal_position
LIMIT, TORQUE = FEETECH_STS.torque_limit, FEETECH_STS.torque_enable


def test_it_goes_to_the_follower_at_its_speed_from_where_the_hand_left_it() -> None:
    leader = FollowingLeader(torque=0.4, speed=1.0)
    first = leader.step(0.0, {'a': 0.5}, {'a': 0.2}, 0)
    assert first.torque == pytest.approx(0.4) and first.goals == {'a': 0.2}
    goals = [leader.step(0.0, {'a': 0.5}, {'a': 0.2}, i * 20 * MS).goals for i in range(1, 20)]
    moves = np.diff([0.2] + [goal['a'] for goal in goals])
    assert moves.max() <= 0.02 + 1e-9
    assert goals[-1]['a'] == pytest.approx(0.5)


def test_its_torque_fades_with_the_human_s_weight_and_comes_back() -> None:
    leader = FollowingLeader(torque=0.4, speed=1.0)
    weights = [0, 0, 0.1, 0.3, 0.5, 0.7, 0.9, 1, 1, 0.6, 0]
    torques = [leader.step(w, {'a': 0.0}, {'a': 0.0}, i * 20 * MS).torque
               for i, w in enumerate(weights)]
    given = [torque for torque in torques[:9] if torque is not None]
    assert given == sorted(given, reverse=True) and given[0] == 0.4 and given[-1] == 0.0
    assert len(given) > 4
    assert torques[1] is torques[8] is None  # nothing is written where nothing changed
    assert torques[-1] == 0.4


def test_without_a_follower_it_is_let_go() -> None:
    leader = FollowingLeader(torque=0.4, speed=1.0)
    leader.step(0.0, {'a': 0.0}, {'a': 0.0}, 0)
    pull = leader.step(0.0, None, {'a': 0.0}, 20 * MS)
    assert (pull.torque, pull.goals) == (0.0, {})
    assert not leader.pulling


def test_the_mapping_s_inverse_gives_back_what_was_mapped() -> None:
    mapping = LeaderMapping(parse_rig(RIG.format(port='x')))
    sample = mapping.map(('lead_grip', 'lead_pan'), (0.3, -0.7), 0)
    assert mapping.inverse(sample.positions) == pytest.approx({'lead_pan': -0.7, 'lead_grip': 0.3})


def test_an_emulated_leader_is_pulled_to_the_follower_and_let_go(tmp_path: Path) -> None:
    rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    pytest.importorskip('scservo_sdk', reason='feetech-servo-sdk is not installed')
    from sensor_msgs.msg import JointState
    from teleop_flywheel.msg import Authority

    from teleop_bridge.clock import SessionClock
    from teleop_bridge.nodes.convert import to_stamp
    from teleop_bridge.nodes.qos import STREAM

    servos = {
        name: ServoCalibration(id=i, zero=2048, range_min=100, range_max=4000)
        for i, name in ((1, 'lead_pan'), (2, 'lead_grip'))
    }
    save_calibration(tmp_path / 'arm.yaml', Calibration(servos))
    rig = tmp_path / 'rig.yaml'
    rig.write_text(RIG.format(port=tmp_path / 'leader'))
    domain, clock = new_domain(), SessionClock.from_wall_clock()
    with ExitStack() as stack:
        arm = stack.enter_context(
            ServoEmulator(tmp_path / 'leader', FeetechProtocol(), (1, 2))
        )
        for servo in (1, 2):
            arm.set_register(servo, POSITION.address, POSITION.size, 2048)
        context = rclpy.Context()
        context.init(domain_id=domain)
        other = rclpy.create_node('other', context=context)
        authority = other.create_publisher(Authority, 'authority', STREAM)
        command = other.create_publisher(JointState, 'follower/command', STREAM)
        weight = [0.0]
        limits: list[int] = []

        def act() -> None:
            stamp = to_stamp(clock.now_ns())
            told = Authority(weight=weight[0])
            sent = JointState(name=['pan', 'grip'], position=[-0.4, 0.6])
            told.header.stamp = sent.header.stamp = stamp
            authority.publish(told)
            command.publish(sent)
            limits.append(arm.register(1, LIMIT.address, LIMIT.size))
            for servo in (1, 2):
                goal = arm.register(servo, GOAL.address, GOAL.size)
                if arm.register(servo, TORQUE.address, 1) and goal:
                    arm.set_register(servo, POSITION.address, POSITION.size, goal)
            time.sleep(0.01)

        def at(servo: int, angle: float) -> bool:
            ticks = arm.register(servo, POSITION.address, POSITION.size)
            return abs(ticks - 2048 - angle * 4096 / (2 * np.pi)) < 3

        log = tmp_path / 'leader.log'
        with node('teleop_bridge.nodes.leader', domain, log, rig=rig):
            wait_until(lambda: at(1, 0.5) and at(2, 0.3), act, 'the leader to be at the follower')
            assert limits[-1] == 400
            for share in np.linspace(0, 1, 9):
                weight[0] = float(share)
                for _ in range(10):
                    act()
            wait_until(lambda: not arm.register(1, TORQUE.address, 1), act, 'it to be let go')
        other.destroy_node()
        context.try_shutdown()
    assert len(set(limits[limits.index(400):])) > 3  # it faded, in steps

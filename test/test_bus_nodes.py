# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Leader and follower nodes on emulated servo buses: a hand's motion reaches the servos."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
import math
from pathlib import Path
import time

import pytest

from support.live import new_domain, node, wait_until
from support.servo_emulator import FeetechProtocol, ServoEmulator
from teleop_bridge.bus.calibration import Calibration, save_calibration, ServoCalibration
from teleop_bridge.bus.device import bus_device
from teleop_bridge.bus.models import FEETECH_STS
from teleop_bridge.exceptions import RigError
from teleop_bridge.rig.loader import load_rig

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('scservo_sdk', reason='feetech-servo-sdk is not installed')

RIG = """
rig: servos
joints:
  pan: {{lower: -2, upper: 2, velocity: 20, acceleration: 2000}}
  grip: {{lower: -2, upper: 2, velocity: 20, acceleration: 2000, kind: gripper}}
leader: {{mapping: {{pan: {{sign: -1}}, grip: {{}}}}}}
streams:
  leader: {{topic: leader/joint_states, type: sensor_msgs/msg/JointState, role: leader,
           max_age_ms: 2000}}
  human: {{topic: leader/command, type: sensor_msgs/msg/JointState, role: human_proposal,
          max_age_ms: 2000}}
  action: {{topic: follower/command, type: sensor_msgs/msg/JointState, role: action,
           max_age_ms: 2000}}
  state: {{topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 2000}}
  authority: {{topic: authority, type: teleop_flywheel/msg/Authority, role: authority,
              max_age_ms: 2000}}
follower: {{rate_hz: 50, max_age_ms: 2000, startup_velocity: 5, output: bus}}
devices:
  leader: {{bus: feetech_sts, port: {leader}, calibration: arm.yaml, rate_hz: 50,
           reply_timeout_ms: 200}}
  follower: {{bus: feetech_sts, port: {follower}, calibration: arm.yaml, rate_hz: 50,
             reply_timeout_ms: 200}}
"""
POSITION, GOAL = FEETECH_STS.present_position, FEETECH_STS.goal_position


def write_rig(folder: Path) -> Path:
    servos = {
        name: ServoCalibration(id=i, zero=2048, range_min=100, range_max=4000)
        for i, name in ((1, 'pan'), (2, 'grip'))
    }
    save_calibration(folder / 'arm.yaml', Calibration(servos))
    rig = folder / 'rig.yaml'
    rig.write_text(RIG.format(leader=folder / 'leader', follower=folder / 'follower'))
    return rig


Arms = dict[str, ServoEmulator]


@pytest.fixture
def arms(tmp_path: Path) -> Iterator[Arms]:
    """Leader and follower at rest in their middle, and the nodes that connect them."""
    rig = write_rig(tmp_path)
    domain = new_domain()
    with ExitStack() as stack:
        arms = {
            name: stack.enter_context(ServoEmulator(tmp_path / name, FeetechProtocol(), (1, 2)))
            for name in ('leader', 'follower')
        }
        for arm in arms.values():
            for servo in (1, 2):
                arm.set_register(servo, POSITION.address, POSITION.size, 2048)
        for name in arms:
            log = tmp_path / f'{name}.log'
            stack.enter_context(node(f'teleop_bridge.nodes.{name}', domain, log, rig=rig))
        yield arms


def lead(arms: Arms, angle: float) -> None:
    ticks = 2048 + round(angle * 4096 / math.tau)
    arms['leader'].set_register(1, POSITION.address, POSITION.size, ticks)


def goal(arms: Arms) -> float:
    """Return where the follower's first joint is sent, rad; the mapping turns it round."""
    ticks = arms['follower'].register(1, GOAL.address, GOAL.size)
    return (2048 - ticks) * math.tau / 4096


def track(arms: Arms) -> None:
    """Let the follower's servos be where they are sent."""
    time.sleep(0.005)
    follower = arms['follower']
    for servo in (1, 2):
        sent = follower.register(servo, GOAL.address, GOAL.size)
        if sent:
            follower.set_register(servo, POSITION.address, POSITION.size, sent)


def test_a_hand_s_motion_reaches_the_follower_s_servos(arms: Arms) -> None:
    lead(arms, 0.4)
    wait_until(lambda: abs(goal(arms) - 0.4) < 0.002, lambda: track(arms), 'the follower')
    assert arms['follower'].register(2, FEETECH_STS.torque_enable.address, 1) == 1


def test_a_leader_unplugged_in_mid_motion_is_held_and_approached_anew(arms: Arms) -> None:
    lead(arms, 0.2)
    wait_until(lambda: abs(goal(arms) - 0.2) < 0.002, lambda: track(arms), 'the follower')
    for step in range(10):  # in motion
        lead(arms, 0.2 + 0.02 * step)
        track(arms)
    arms['leader'].vanish()
    lead(arms, -0.6)  # moved while it is away
    for _ in range(600):  # longer than the maximum age
        track(arms)
    held = goal(arms)
    assert 0.15 < held < 0.45
    arms['leader'].come_back()
    goals = []

    def watch() -> None:
        track(arms)
        goals.append(goal(arms))

    wait_until(lambda: abs(goal(arms) + 0.6) < 0.002, watch, 'the follower to be there again')
    passed = sum(1 for value in goals if -0.5 < value < held - 0.1)
    assert passed > 3  # it went there, instead of jumping


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('bus: feetech_sts', 'bus: dynamo', "devices.leader.bus: expected one of .*'dynamo'"),
        ('calibration: arm.yaml', 'calibrated: arm.yaml', 'devices.leader.calibration: required'),
        ('_ms: 200}', '_ms: 200, speed: 1}', 'devices.leader.speed: unknown key'),
    ],
)
def test_a_wrong_declaration_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    rig = write_rig(tmp_path)
    head, devices = rig.read_text().split('devices:')
    rig.write_text(f'{head}devices:{devices.replace(old, new, 1)}')
    with pytest.raises(RigError, match=message):
        bus_device(load_rig(rig), 'leader')

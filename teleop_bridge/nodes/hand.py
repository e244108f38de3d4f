# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Node: a gamepad, a SpaceMouse or a tracked controller becomes the human's proposal."""

from __future__ import annotations

import sys
from typing import Any

from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState, Joy

from teleop_bridge.cartesian.clutch import Clutch
from teleop_bridge.cartesian.device import hand_device, HandKind
from teleop_bridge.cartesian.hand import CartesianHand
from teleop_bridge.cartesian.ik import DifferentialIk, Pose, Validity
from teleop_bridge.exceptions import JointError, RigError
from teleop_bridge.joints import JointMerger
from teleop_bridge.nodes.convert import to_joint_state, to_ns, to_stamp
from teleop_bridge.nodes.health import Health, Report
from teleop_bridge.nodes.parameters import declare_rig
from teleop_bridge.nodes.qos import SENSOR, STREAM
from teleop_bridge.nodes.refusals import Refusals
from teleop_bridge.nodes.run import run
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig, Role
from teleop_bridge.rig.urdf import urdf_file

_TYPES = {HandKind.JOY: Joy, HandKind.TWIST: TwistStamped, HandKind.POSE: PoseStamped}
_VALIDITY = ('manipulability', 'residual', 'limit_margin')


class HandNode(Node):
    """Steps a CartesianHand at the control rate and publishes its joints and their validity."""

    def __init__(self) -> None:
        super().__init__('hand')
        rig = load_rig(declare_rig(self))
        device = hand_device(rig)
        proposals = rig.by_role(Role.HUMAN_PROPOSAL)
        if device is None or not proposals:
            raise RigError(
                f'{rig.path}: this node needs devices.hand and a stream of the role human_proposal'
            )
        self._device = device
        self._time = NodeClock(self, rig)
        self._refusals = Refusals(self)
        self._merger = JointMerger(rig.joint_names, strict=rig.strict_joints)
        self._hand = CartesianHand(
            rig,
            DifferentialIk(rig, urdf=urdf_file(rig), tip_frame=device.tip_frame),
            Clutch(timeout_ns=device.timeout_ns),
            max_speed=device.max_speed,
            max_turn=device.max_turn,
            gripper_speed=device.gripper_speed,
        )
        self._buttons: list[int] = []
        self._period_s = 1.0 / rig.follower.rate_hz
        self._proposals = self.create_publisher(JointState, proposals[0].topic, STREAM)
        self._validity = self._validity_publisher(rig)
        self.create_subscription(_TYPES[device.kind], device.topic, self._on_hand, SENSOR)
        if device.buttons_topic != device.topic:
            self.create_subscription(Joy, device.buttons_topic, self._on_buttons, SENSOR)
        for stream in rig.by_role(Role.STATE):
            self.create_subscription(JointState, stream.topic, self._on_state, SENSOR)
        self._health = Health(self, self._report)
        self.create_timer(self._period_s, self._step)

    def _validity_publisher(self, rig: Rig) -> Any:
        streams = rig.by_role(Role.IK_VALIDITY)
        topic = streams[0].topic if streams else 'leader/ik_validity'
        return self.create_publisher(JointState, topic, STREAM)

    def _on_state(self, message: JointState) -> None:
        try:
            self._merger.update(message.name, message.position, to_ns(message.header.stamp))
        except JointError as error:
            self._refusals.add('state', error)
            return
        sample = self._merger.latest()
        if sample is not None:
            self._hand.measured(sample)

    def _on_buttons(self, message: Joy) -> None:
        self._buttons = list(message.buttons)

    def _on_hand(self, message: Any) -> None:
        device = self._device
        if device.kind is HandKind.JOY:
            self._buttons = list(message.buttons)
        common = {
            'clutch': device.pressed(self._buttons, device.clutch),
            'gripper': device.gripper(self._buttons),
            'stamp_ns': to_ns(message.header.stamp),
            'now_ns': self._time.now_ns(),
        }
        if device.kind is HandKind.POSE:
            self._hand.pose(_pose(message, device.scale), **common)
        elif device.kind is HandKind.JOY:
            self._hand.twist(device.twist(message.axes), **common)
        else:
            self._hand.twist(device.scale * _twist(message), **common)

    def _step(self) -> None:
        made = self._hand.step(self._time.now_ns(), self._period_s)
        if made is None:
            return
        sample, validity = made
        self._proposals.publish(to_joint_state(sample))
        self._validity.publish(_validity(validity, sample.stamp_ns))

    def _report(self) -> Report:
        refused = self._refusals.counts
        line = f'{refused.total()} messages refused' if refused else 'following the hand'
        return not refused, line, dict(refused)


def _twist(message: TwistStamped) -> NDArray[np.float64]:
    linear, angular = message.twist.linear, message.twist.angular
    return np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])


def _pose(message: PoseStamped, scale: float) -> Pose:
    p, q = message.pose.position, message.pose.orientation
    rotation = Rotation.from_quat([q.x, q.y, q.z, q.w]).as_matrix()
    return Pose(scale * np.array([p.x, p.y, p.z]), rotation)


def _validity(validity: Validity, stamp_ns: int) -> JointState:
    values = [validity.manipulability, validity.residual, validity.limit_margin]
    message = JointState(name=list(_VALIDITY), position=values)
    message.header.stamp = to_stamp(stamp_ns)
    return message


def main() -> None:
    """Run the node."""
    sys.exit(run(HandNode))


if __name__ == '__main__':
    main()

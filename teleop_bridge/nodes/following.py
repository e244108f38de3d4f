# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Let a leader arm follow the follower while a policy drives."""

from __future__ import annotations

from rclpy.node import Node
from sensor_msgs.msg import JointState
from teleop_flywheel.msg import Authority

from teleop_bridge.bus.following import FollowingLeader, Pull
from teleop_bridge.exceptions import DeviceError, JointError
from teleop_bridge.joints import select_joints
from teleop_bridge.mapping import LeaderMapping
from teleop_bridge.nodes.bus_joints import BusJoints
from teleop_bridge.nodes.convert import to_ns
from teleop_bridge.nodes.qos import SENSOR
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.rig.schema import Rig, Role

_RATE_HZ = 50.0


class LeaderPull:
    """Feeds a FollowingLeader with the authority and what is sent to the follower."""

    def __init__(
        self, node: Node, rig: Rig, mapping: LeaderMapping, arm: BusJoints, clock: NodeClock
    ) -> None:
        device = arm.device
        self._node = node
        self._names = rig.joint_names
        self._mapping = mapping
        self._arm = arm.arm
        self._time = clock
        self._max_age_ns = rig.follower.max_age_ns
        self._core = FollowingLeader(torque=device.follow_torque, speed=device.follow_speed)
        self._weight, self._weight_ns = 1.0, 0
        self._command: dict[str, float] = {}
        self._failed: float | None = None  # a torque that did not get through
        for stream in rig.by_role(Role.AUTHORITY):
            node.create_subscription(Authority, stream.topic, self._on_authority, SENSOR)
        for stream in rig.by_role(Role.ACTION):
            node.create_subscription(JointState, stream.topic, self._on_command, SENSOR)
        node.create_timer(1.0 / _RATE_HZ, self._step)

    def let_go(self) -> None:
        """Take the torque off."""
        self._apply(self._core.step(1.0, None, {}, self._time.now_ns()), self._time.now_ns())

    def _on_authority(self, message: Authority) -> None:
        self._weight, self._weight_ns = message.weight, to_ns(message.header.stamp)

    def _on_command(self, message: JointState) -> None:
        try:
            picked = select_joints(self._names, message.name, message.position)
        except JointError:
            return
        joints = self._mapping.inverse([picked[name] for name in self._names])
        self._command = {name: joints[name] for name in self._arm.joints if name in joints}

    def _step(self) -> None:
        now_ns = self._time.now_ns()
        sample = self._arm.last
        if sample is None:
            return
        fresh = now_ns - self._weight_ns <= self._max_age_ns and self._command
        leader = dict(zip(sample.names, sample.positions.tolist(), strict=True))
        pull = self._core.step(self._weight, self._command if fresh else None, leader, now_ns)
        self._apply(pull, now_ns)

    def _apply(self, pull: Pull, now_ns: int) -> None:
        torque = self._failed if pull.torque is None else pull.torque
        self._failed = None
        try:
            if torque == 0.0:
                self._arm.set_torque(False)
            elif torque is not None and not self._arm.has_torque:
                self._arm.set_torque(True, fraction=torque)
            elif torque is not None:
                self._arm.limit_torque(torque)
        except DeviceError as error:
            self._failed = torque
            self._node.get_logger().warning(f'leader torque: {error}', throttle_duration_sec=5.0)
        if pull.goals:
            self._arm.command(pull.goals, now_ns)

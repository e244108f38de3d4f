# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Node: one simulated arm of several, without cameras: its joints carry a prefix."""

from __future__ import annotations

import sys
import time

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from teleop_bridge.exceptions import JointError, RigError
from teleop_bridge.joints import select_joints
from teleop_bridge.nodes import sim_messages
from teleop_bridge.nodes.convert import to_stamp
from teleop_bridge.nodes.health import Health, Report
from teleop_bridge.nodes.parameters import declare, declare_rig
from teleop_bridge.nodes.qos import LATCHED, SENSOR, STREAM
from teleop_bridge.nodes.refusals import Refusals
from teleop_bridge.nodes.run import run
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Role
from teleop_bridge.sim.arms import arm_prefixes, state_stream
from teleop_bridge.sim.description import robot_description
from teleop_bridge.sim.rig import SimRig
from teleop_bridge.sim.scene import JOINTS

_MOST_STEP_NS = 100_000_000  # after a stall, physics does not try to catch up with more
_TF_EVERY = 3  # state ticks


class SimArmNode(Node):
    """Steps one arm with the clock; its frames and description are under its prefix's name.

    The arm ``left_`` has the joints left_shoulder_pan and so on, the frames left/base_link and so
    on, and the description left/robot_description.
    """

    def __init__(self) -> None:
        super().__init__('sim_arm')
        rig = load_rig(declare_rig(self))
        prefix = declare(self, 'prefix', '', "prefix of this arm's joints in the rig")
        seed = declare(self, 'seed', 0, 'seed of the start state', low=0, high=2**31 - 1)
        if prefix not in arm_prefixes(rig):
            known = ', '.join(map(repr, arm_prefixes(rig))) or 'none'
            raise RigError(f"{rig.path}: joints: no arm of the prefix '{prefix}' (arms: {known})")
        self._names = [f'{prefix}{joint}' for joint in JOINTS]
        self._frames = f'{prefix.rstrip("_")}/' if prefix else ''
        self._time = NodeClock(self, rig)
        self._sim = SimRig(seed)
        self._last_ns = time.monotonic_ns()
        self._ticks = 0
        self._refusals = Refusals(self)
        self._state = self.create_publisher(JointState, state_stream(rig, prefix).topic, STREAM)
        self._description = self.create_publisher(
            String, f'{self._frames}robot_description', LATCHED
        )
        self._description.publish(String(data=robot_description()))
        self._tf_type = sim_messages.tf_message_type()
        if self._tf_type is not None:
            self._tf = self.create_publisher(self._tf_type, 'tf', STREAM)
        for stream in rig.by_role(Role.ACTION):
            self.create_subscription(JointState, stream.topic, self._on_command, SENSOR)
        self._health = Health(self, self._report)
        self.create_timer(1 / rig.follower.rate_hz, self._tick)

    def _tick(self) -> None:
        now_ns = time.monotonic_ns()
        self._sim.step(min(now_ns - self._last_ns, _MOST_STEP_NS))
        self._last_ns = now_ns
        stamp = to_stamp(self._time.now_ns())
        message = sim_messages.joint_state(self._sim.state(), stamp)
        message.name = self._names
        self._state.publish(message)
        if self._tf_type is not None and self._ticks % _TF_EVERY == 0:
            transforms = sim_messages.link_transforms(self._sim.link_poses(), stamp)
            for transform in transforms:
                transform.header.frame_id = self._frames + transform.header.frame_id
                transform.child_frame_id = self._frames + transform.child_frame_id
            self._tf.publish(self._tf_type(transforms=transforms))
        self._ticks += 1

    def _on_command(self, message: JointState) -> None:
        try:
            picked = select_joints(self._names, message.name, message.position)
            self._sim.command(np.array([picked[name] for name in self._names]))
        except JointError as error:
            self._refusals.add('command', error)

    def _report(self) -> Report:
        refused = self._refusals.counts
        line = f'{refused.total()} commands refused' if refused else 'simulating'
        return not refused, line, {'ticks': self._ticks, **refused}


def main() -> None:
    """Run the node."""
    sys.exit(run(SimArmNode))


if __name__ == '__main__':
    main()

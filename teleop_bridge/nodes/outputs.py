# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What drives the robot: the executed command in the form that its controller takes."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from rclpy.duration import Duration
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from teleop_bridge.bus.arm import BusArm
from teleop_bridge.exceptions import RigError
from teleop_bridge.joints import JointSample
from teleop_bridge.nodes.convert import to_stamp
from teleop_bridge.nodes.qos import STREAM
from teleop_bridge.rig.schema import Rig


class OutputKind(Enum):
    """The forms that a rig file can ask for by ``follower.output``."""

    JOINT_STATE = 'joint_state'                # the action stream itself, and nothing beside it
    FLOAT64_MULTI_ARRAY = 'float64_multi_array'  # ros2_control's forward command controllers
    JOINT_TRAJECTORY = 'joint_trajectory'      # joint_trajectory_controller's topic
    BUS = 'bus'                                # servos on a serial bus of ours


class Output(Protocol):
    """Sends one command."""

    def send(self, sample: JointSample) -> None:
        """Send a command in the rig's joint order."""


class NoOutput:
    """The action stream is what the robot's driver listens to."""

    def send(self, sample: JointSample) -> None:
        """Do nothing more."""


class ArrayOutput:
    """Positions alone, in the rig's joint order, which the controller's ``joints`` must match."""

    def __init__(self, node: Node, topic: str) -> None:
        self._publisher = node.create_publisher(Float64MultiArray, topic, STREAM)

    def send(self, sample: JointSample) -> None:
        """Send the positions."""
        self._publisher.publish(Float64MultiArray(data=sample.positions.tolist()))


class TrajectoryOutput:
    """One point that is to be reached a period from now."""

    def __init__(self, node: Node, topic: str, *, period_ns: int) -> None:
        self._publisher = node.create_publisher(JointTrajectory, topic, STREAM)
        self._reach = Duration(nanoseconds=period_ns).to_msg()

    def send(self, sample: JointSample) -> None:
        """Send the point."""
        positions = sample.positions.tolist()
        point = JointTrajectoryPoint(positions=positions, time_from_start=self._reach)
        message = JointTrajectory(joint_names=list(sample.names), points=[point])
        message.header.stamp = to_stamp(sample.stamp_ns)
        self._publisher.publish(message)


class BusOutput:
    """Goal positions to servos."""

    def __init__(self, arm: BusArm) -> None:
        self._arm = arm

    def send(self, sample: JointSample) -> None:
        """Send the goals; what happens to the bus is counted by the arm."""
        goals = dict(zip(sample.names, sample.positions.tolist(), strict=True))
        self._arm.command(goals, sample.stamp_ns)


def make_output(node: Node, rig: Rig, *, period_ns: int, arm: BusArm | None) -> Output:
    """Return the output that the rig asks for; raises RigError naming what is possible."""
    settings = rig.follower
    try:
        kind = OutputKind(settings.output)
    except ValueError as error:
        known = ', '.join(option.value for option in OutputKind)
        raise RigError(
            f"{rig.path}: follower.output: expected one of {known}, found '{settings.output}'"
        ) from error
    if kind is OutputKind.JOINT_STATE:
        return NoOutput()
    if kind is OutputKind.BUS:
        if arm is None:
            raise RigError(f'{rig.path}: follower.output: bus needs devices.follower')
        return BusOutput(arm)
    if not settings.output_topic:
        raise RigError(f'{rig.path}: follower.output_topic: required for {kind.value}')
    if kind is OutputKind.FLOAT64_MULTI_ARRAY:
        return ArrayOutput(node, settings.output_topic)
    return TrajectoryOutput(node, settings.output_topic, period_ns=period_ns)

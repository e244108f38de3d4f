# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What drives the robot: the executed command in the form that its controller takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from rclpy.action import ActionClient
from rclpy.duration import Duration
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from teleop_bridge.bus.arm import BusArm
from teleop_bridge.exceptions import MissingDependencyError, RigError
from teleop_bridge.joints import JointSample
from teleop_bridge.nodes.controllers import require_active
from teleop_bridge.nodes.qos import STREAM
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.rig.schema import CommandOutput, OutputKind, Rig
from teleop_bridge.upsampling import Upsampler


class Output(Protocol):
    """Sends one command."""

    def send(self, sample: JointSample) -> None:
        """Send a command in the rig's joint order."""


class ArrayOutput:
    """Positions alone, in the declared order, which the controller's ``joints`` must match.

    Forward controllers pass on what came last: where they run faster than our control loop, the
    way to each command is sent at their rate.
    """

    def __init__(
        self, node: Node, declared: CommandOutput, order: list[int], clock: NodeClock, *,
        period_ns: int,
    ) -> None:
        self._publisher = node.create_publisher(Float64MultiArray, declared.topic, STREAM)
        self._order = order
        self._time = clock
        self._between: Upsampler | None = None
        if declared.rate_hz is not None and declared.rate_hz * period_ns > 1e9:
            self._between = Upsampler(period_ns=period_ns)
            node.create_timer(1.0 / declared.rate_hz, self._tick)

    def send(self, sample: JointSample) -> None:
        """Send the positions, or set out for them."""
        positions = sample.positions[self._order]
        if self._between is not None:
            self._between.aim(positions, self._time.now_ns())
        else:
            self._publisher.publish(Float64MultiArray(data=positions.tolist()))

    def _tick(self) -> None:
        assert self._between is not None
        positions = self._between.at(self._time.now_ns())
        if positions is not None:
            self._publisher.publish(Float64MultiArray(data=positions.tolist()))


class TrajectoryOutput:
    """One point that is to be reached a period from now."""

    def __init__(
        self, node: Node, declared: CommandOutput, order: list[int], *, period_ns: int
    ) -> None:
        self._publisher = node.create_publisher(JointTrajectory, declared.topic, STREAM)
        self._names = list(declared.joints)
        self._order = order
        self._reach = Duration(nanoseconds=period_ns).to_msg()

    def send(self, sample: JointSample) -> None:
        """Send the point; without a stamp, which the controller reads as from now on."""
        positions = sample.positions[self._order].tolist()
        point = JointTrajectoryPoint(positions=positions, time_from_start=self._reach)
        self._publisher.publish(JointTrajectory(joint_names=self._names, points=[point]))


class GripperOutput:
    """A goal whenever the gripper is asked for another opening; a new one replaces the last."""

    def __init__(self, node: Node, declared: CommandOutput, index: int) -> None:
        try:
            from control_msgs.action import GripperCommand
        except ImportError as error:
            raise MissingDependencyError(
                'a gripper_command output needs control_msgs: apt install ros-jazzy-control-msgs'
            ) from error
        self._goal_type: Any = GripperCommand.Goal
        self._client = ActionClient(node, GripperCommand, declared.topic)
        self._declared = declared
        self._index = index
        self._sent = np.nan

    def send(self, sample: JointSample) -> None:
        """Send a goal if the opening differs from the last one sent."""
        wanted = float(sample.positions[self._index])
        if abs(wanted - self._sent) < self._declared.resolution or not (
            self._client.server_is_ready()
        ):
            return
        self._sent = wanted
        goal = self._goal_type()
        goal.command.position, goal.command.max_effort = wanted, self._declared.max_effort
        self._client.send_goal_async(goal)


class BusOutput:
    """Goal positions to servos."""

    def __init__(self, arms: Sequence[BusArm]) -> None:
        self._arms = tuple(arms)

    def send(self, sample: JointSample) -> None:
        """Send the goals; what happens to a bus is counted by its arm."""
        goals = dict(zip(sample.names, sample.positions.tolist(), strict=True))
        for arm in self._arms:
            arm.command({name: goals[name] for name in arm.joints}, sample.stamp_ns)


def make_outputs(
    node: Node, rig: Rig, clock: NodeClock, *, period_ns: int, arms: Sequence[BusArm]
) -> list[Output]:
    """Return the outputs that the rig asks for, with every named controller active.

    Raises RigError and DeviceError, naming what is missing.
    """
    index = {name: i for i, name in enumerate(rig.joint_names)}
    return [
        output
        for declared in rig.follower.outputs
        if (output := _make(node, rig, declared, index, clock, period_ns=period_ns, arms=arms))
    ]


def _make(
    node: Node,
    rig: Rig,
    declared: CommandOutput,
    index: Mapping[str, int],
    clock: NodeClock,
    *,
    period_ns: int,
    arms: Sequence[BusArm],
) -> Output | None:
    if declared.controller:
        require_active(node, declared.controller, manager=declared.manager)
    order = [index[name] for name in declared.joints]
    if declared.kind is OutputKind.BUS:
        if not arms:
            raise RigError(f'{rig.path}: follower.output: bus needs devices.follower')
        return BusOutput(arms)
    if declared.kind is OutputKind.FLOAT64_MULTI_ARRAY:
        return ArrayOutput(node, declared, order, clock, period_ns=period_ns)
    if declared.kind is OutputKind.JOINT_TRAJECTORY:
        return TrajectoryOutput(node, declared, order, period_ns=period_ns)
    if declared.kind is OutputKind.GRIPPER_COMMAND:
        return GripperOutput(node, declared, order[0])
    return None  # the action stream is what the robot's driver listens to

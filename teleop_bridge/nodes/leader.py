# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Node: a leader's joints become the human's proposal in follower joints."""

from __future__ import annotations

from collections.abc import Sequence
import sys

from rclpy.node import Node
from sensor_msgs.msg import JointState

from teleop_bridge.bus.device import bus_devices, require_joints
from teleop_bridge.exceptions import JointError, RigError
from teleop_bridge.joints import JointMerger, JointSample
from teleop_bridge.mapping import LeaderMapping
from teleop_bridge.nodes.bus_joints import bus_joints, BusJoints
from teleop_bridge.nodes.convert import to_joint_state, to_ns
from teleop_bridge.nodes.following import LeaderPull
from teleop_bridge.nodes.health import Health, Report
from teleop_bridge.nodes.parameters import declare_rig
from teleop_bridge.nodes.qos import SENSOR, STREAM
from teleop_bridge.nodes.refusals import Refusals
from teleop_bridge.nodes.run import run
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Role


class LeaderNode(Node):
    """Maps every leader message by name and keeps its stamp: the time when the hand was there."""

    def __init__(self) -> None:
        super().__init__('leader')
        rig = load_rig(declare_rig(self))
        sources, proposals = rig.by_role(Role.LEADER), rig.by_role(Role.HUMAN_PROPOSAL)
        if not sources or not proposals:
            raise RigError(
                f'{rig.path}: streams: a leader needs the roles leader and human_proposal'
            )
        self._mapping = LeaderMapping(rig)
        self._refusals = Refusals(self)
        self._mapped = 0
        self._publisher = self.create_publisher(JointState, proposals[0].topic, STREAM)
        self._arms: tuple[BusJoints, ...] = ()
        self._following: list[LeaderPull] = []
        wanted = tuple(row.source for row in rig.mapping)
        devices = bus_devices(rig, 'leader')
        # several arms, each with some of the joints; one leader's message must have all
        several = max(len(devices), len(sources)) > 1
        self._merger = JointMerger(wanted, strict=rig.strict_joints) if several else None
        if devices:
            require_joints(devices, wanted, rig)
            clock = NodeClock(self, rig)
            self._arms = bus_joints(self, devices, rig, Role.LEADER, clock, self._map)
            self._following = [
                LeaderPull(self, rig, self._mapping, arm, clock)
                for arm in self._arms
                if arm.device.follow_torque
            ]
        else:
            for stream in sources:
                self.create_subscription(JointState, stream.topic, self._on_leader, SENSOR)
        self._health = Health(self, self._report)

    def destroy_node(self) -> None:
        """Let go of leaders that pull, close the buses, and end the node."""
        for pull in self._following:
            pull.let_go()
        for arm in self._arms:
            arm.close()
        super().destroy_node()

    def _map(self, sample: JointSample) -> None:
        self._take(sample.names, sample.positions.tolist(), sample.stamp_ns)

    def _on_leader(self, message: JointState) -> None:
        self._take(message.name, message.position, to_ns(message.header.stamp))

    def _take(self, names: Sequence[str], positions: Sequence[float], stamp_ns: int) -> None:
        try:
            if self._merger is not None:
                self._merger.update(names, positions, stamp_ns)
                merged = self._merger.latest()
                if merged is None:
                    return
                names, positions = merged.names, merged.positions.tolist()
                stamp_ns = merged.stamp_ns
            sample = self._mapping.map(names, positions, stamp_ns)
        except JointError as error:
            self._refusals.add('leader', error)
            return
        self._mapped += 1
        self._publisher.publish(to_joint_state(sample))

    def _report(self) -> Report:
        refused = self._refusals.counts
        line = f'{refused.total()} messages refused' if refused else 'mapping'
        bus = {key: value for arm in self._arms for key, value in arm.values().items()}
        return not refused, line, {'mapped': self._mapped, **bus, **refused}


def main() -> None:
    """Run the node."""
    sys.exit(run(LeaderNode))


if __name__ == '__main__':
    main()

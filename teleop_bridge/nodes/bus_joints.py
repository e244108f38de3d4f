# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The joints of an arm on a serial bus, as a topic."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from sensor_msgs.msg import JointState

from teleop_bridge.bus.arm import BusArm, ReadResult
from teleop_bridge.bus.device import BusDevice
from teleop_bridge.joints import JointSample
from teleop_bridge.nodes.convert import to_joint_state
from teleop_bridge.nodes.qos import STREAM
from teleop_bridge.nodes.session_clock import NodeClock


class BusJoints:
    """Polls an arm at its rate and publishes what it read; ``take`` gets the same samples.

    A read that failed is not repeated on the topic: its last message already said so much.
    """

    def __init__(
        self,
        node: Node,
        device: BusDevice,
        clock: NodeClock,
        *,
        topic: str,
        take: Callable[[JointSample], None],
    ) -> None:
        self.arm: BusArm = device.arm(clock.session)
        self._node = node
        self._device = device
        self._time = clock
        self._take = take
        self._publisher = node.create_publisher(JointState, topic, STREAM)
        self._connected = True
        self.arm.open()
        node.create_timer(1.0 / device.rate_hz, self._poll)

    def close(self) -> None:
        """Close the bus."""
        self.arm.close()

    def values(self) -> dict[str, object]:
        """Return the bus's counters, for /diagnostics."""
        counters = self.arm.counters
        return {
            'bus reads': counters.reads,
            'bus reads bridged': counters.bridged,
            'bus reads lost': counters.lost,
            'bus disconnects': counters.disconnects,
            'bus last error': counters.last_error,
        }

    def _poll(self) -> None:
        self.arm.clock = self._time.session
        result, sample = self.arm.poll(self._time.session.now_ns())
        if result is ReadResult.FRESH and sample is not None:
            self._publisher.publish(to_joint_state(sample))
            self._take(sample)
        connected = result is not ReadResult.DISCONNECTED
        if connected != self._connected:
            self._connected = connected
            what = 'answers again' if connected else f'is gone: {self.arm.counters.last_error}'
            self._node.get_logger().warning(f'{self._device.name} {what}')

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The joints of an arm on a serial bus, as a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone

from rclpy.node import Node
from sensor_msgs.msg import JointState

from teleop_bridge.bus.arm import BusArm, ReadResult
from teleop_bridge.bus.device import BusDevice
from teleop_bridge.exceptions import FlywheelError, RigError
from teleop_bridge.joints import JointSample
from teleop_bridge.nodes.convert import to_joint_state
from teleop_bridge.nodes.qos import STREAM
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.rig.schema import Rig, Role


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
        device.check_age(datetime.now(timezone.utc))
        self.arm: BusArm = device.arm(clock.session)
        self._node = node
        self.device = device
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
        calibration = self.device.calibration
        age_days = calibration.age_days(datetime.now(timezone.utc))
        values = {
            'reads': counters.reads,
            'reads bridged': counters.bridged,
            'reads lost': counters.lost,
            'disconnects': counters.disconnects,
            'last error': counters.last_error,
            'calibration sha256': calibration.sha256,
            'calibration age days': 'unknown' if age_days is None else f'{age_days:.0f}',
        }
        return {f'{self.device.name} {key}': value for key, value in values.items()}

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
            self._node.get_logger().warning(f'{self.device.name} {what}')


def bus_joints(
    node: Node,
    devices: Iterable[BusDevice],
    rig: Rig,
    role: Role,
    clock: NodeClock,
    take: Callable[[JointSample], None],
) -> tuple[BusJoints, ...]:
    """Open arms, each on the stream that it names or on the only one of ``role``.

    Raises RigError where that leaves it open, and DeviceError where an arm can't be used.
    """
    streams = {stream.name: stream.topic for stream in rig.by_role(role)}
    opened: list[BusJoints] = []
    try:
        for device in devices:
            name = device.stream or (next(iter(streams)) if len(streams) == 1 else '')
            if name not in streams:
                raise RigError(
                    f'{rig.path}: devices.{device.name}.stream: expected one of '
                    f"{', '.join(streams) or 'none'} (role {role.value}), found '{name}'"
                )
            opened.append(BusJoints(node, device, clock, topic=streams[name], take=take))
    except FlywheelError:
        for arm in opened:
            arm.close()
        raise
    return tuple(opened)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A calibrated arm on a bus: joint angles out, goal angles in, through losses and unplugging."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from teleop_bridge.bus.calibration import Calibration, check_fit
from teleop_bridge.bus.servo_bus import BusGoneError, BusReadError, ServoBus
from teleop_bridge.clock import SessionClock
from teleop_bridge.exceptions import DeviceError
from teleop_bridge.joints import JointSample

_TRIES = 5


class ReadResult(Enum):
    """How one cycle's read went."""

    FRESH = 'fresh'  # new positions
    BRIDGED = 'bridged'  # one read failed: the last positions, with the stamp they had
    LOST = 'lost'  # reads fail one after another: nothing to give
    DISCONNECTED = 'disconnected'  # the port is gone


@dataclass
class BusCounters:
    """What happened on the bus since it was opened."""

    reads: int = 0
    bridged: int = 0
    lost: int = 0
    disconnects: int = 0
    last_error: str = field(default='', compare=False)


class BusArm:
    """Polls the arm once a cycle; a failure is counted and never raised.

    ``make_bus`` finds the device and returns an unopened bus: it is called again after an unplug,
    since the port may come back under another name.
    """

    retry_ns = 500_000_000

    def __init__(
        self, *, make_bus: Callable[[], ServoBus], calibration: Calibration, clock: SessionClock
    ) -> None:
        self.counters = BusCounters()
        self._make_bus = make_bus
        self._calibration = calibration
        self.clock = clock  # a session's offset may be fixed after the arm was opened
        self._bus: ServoBus | None = None
        self._last: JointSample | None = None
        self._failures = 0
        self._next_try_ns = 0
        self._torque = 0.0  # fraction, 0 while it is off: restored after an unplug

    @property
    def connected(self) -> bool:
        """Whether the bus is open."""
        return self._bus is not None

    @property
    def has_torque(self) -> bool:
        """Whether its torque is meant to be on."""
        return self._torque > 0

    @property
    def last(self) -> JointSample | None:
        """Return what was read last; None before that and since an unplug."""
        return self._last

    @property
    def joints(self) -> tuple[str, ...]:
        """Return the names of its joints, in the calibration's order."""
        return tuple(self._calibration.servos)

    def open(self) -> None:
        """Open the bus and check that the calibration fits; raises DeviceError."""
        bus = self._make_bus()
        bus.open()
        try:
            check_fit(self._calibration, _read(bus))
        except DeviceError:
            bus.close()
            raise
        self._bus = bus
        self._failures = 0
        self._last = None  # what was true before an unplug is never bridged over it

    def close(self) -> None:
        """Close the bus."""
        if self._bus is not None:
            self._bus.close()
            self._bus = None

    def poll(self, now_ns: int) -> tuple[ReadResult, JointSample | None]:
        """Read once, or try to reconnect, at session time ``now_ns``."""
        if self._bus is None and not self._reconnect(now_ns):
            return ReadResult.DISCONNECTED, None
        assert self._bus is not None
        self.counters.reads += 1
        try:
            reading = self._bus.read_positions()
        except BusReadError as error:
            return self._bridge(error)
        except BusGoneError as error:
            self._drop(error, now_ns)
            return ReadResult.DISCONNECTED, None
        self._failures = 0
        resolution = self._bus.model.resolution
        servos = self._calibration.servos
        angles = [servo.to_angle(reading.ticks[servo.id], resolution) for servo in servos.values()]
        stamp_ns = self.clock.from_monotonic_ns(reading.stamp_ns)
        self._last = JointSample(tuple(servos), np.array(angles), stamp_ns)
        return ReadResult.FRESH, self._last

    def command(self, positions: Mapping[str, float], now_ns: int) -> bool:
        """Send goal angles, rad by joint name; return whether they went out."""
        if self._bus is None:
            return False
        resolution = self._bus.model.resolution
        servos = self._calibration.servos
        ticks = {servos[n].id: servos[n].to_ticks(a, resolution) for n, a in positions.items()}
        try:
            self._bus.write_positions(ticks)
        except BusGoneError as error:
            self._drop(error, now_ns)
            return False
        return True

    def set_torque(self, enabled: bool, *, fraction: float = 1.0) -> None:
        """Switch the arm's torque and bound it to a fraction of the full; raises DeviceError.

        Goals are first set to where the arm is: what servos remember from before would be a jump.
        """
        self._torque = fraction if enabled else 0.0
        if self._bus is None:
            raise BusGoneError('the arm is not connected')
        if enabled:
            self._bus.write_positions(_read(self._bus))
            self._bus.limit_torque(self._calibration.ids, fraction)
        self._bus.set_torque(self._calibration.ids, enabled)

    def limit_torque(self, fraction: float) -> None:
        """Change the bound of a torque that is on, raises DeviceError."""
        self._torque = fraction
        if self._bus is None:
            raise BusGoneError('the arm is not connected')
        self._bus.limit_torque(self._calibration.ids, fraction)

    def _reconnect(self, now_ns: int) -> bool:
        if now_ns < self._next_try_ns:
            return False
        try:
            self.open()
            if self._torque:
                self.set_torque(True, fraction=self._torque)
        except DeviceError as error:
            self._give_up(error, now_ns)
            return False
        return True

    def _give_up(self, error: DeviceError, now_ns: int) -> None:
        self.counters.last_error = str(error)
        self.close()
        self._next_try_ns = now_ns + self.retry_ns

    def _bridge(self, error: BusReadError) -> tuple[ReadResult, JointSample | None]:
        self.counters.last_error = str(error)
        self._failures += 1
        if self._failures == 1 and self._last is not None:
            self.counters.bridged += 1
            return ReadResult.BRIDGED, self._last
        self.counters.lost += 1
        return ReadResult.LOST, None

    def _drop(self, error: BusGoneError, now_ns: int) -> None:
        self.counters.disconnects += 1
        self._give_up(error, now_ns)


def _read(bus: ServoBus) -> dict[int, int]:
    """Read positions where nothing waits: a single failure is tried again."""
    for _ in range(_TRIES - 1):
        try:
            return bus.read_positions().ticks
        except BusReadError:
            continue
    return bus.read_positions().ticks

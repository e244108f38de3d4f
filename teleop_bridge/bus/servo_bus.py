# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a bus of smart servos offers, whoever made the servos."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from teleop_bridge.exceptions import DeviceError


class BusReadError(DeviceError):
    """One group read failed: a reply was lost, late or garbled. The next one may succeed."""


class BusGoneError(DeviceError):
    """The port itself failed, as it does when the plug is pulled."""


@dataclass(frozen=True)
class Register:
    """A place in a servo's control table."""

    address: int
    size: int  # bytes


@dataclass(frozen=True)
class ServoModel:
    """The part of a servo family's control table that is used here.

    Positions are ticks, ``resolution`` to the turn. ``sign_bit`` is the bit that carries the sign
    in sign-magnitude registers; None where registers are two's complement.
    """

    family: str
    resolution: int
    torque_enable: Register
    torque_limit: Register
    full_torque: int
    goal_position: Register
    present_position: Register
    sign_bit: int | None
    group_read: bool


@dataclass(frozen=True)
class BusReading:
    """Positions in ticks by servo id, all from one group read.

    ``stamp_ns`` is ``CLOCK_MONOTONIC`` at the middle of that read.
    """

    ticks: dict[int, int]
    stamp_ns: int


class ServoBus(Protocol):
    """A serial bus with servos on it, opened and closed by its owner."""

    model: ServoModel

    def open(self) -> None:
        """Open the port and check that every servo answers; raises DeviceError."""

    def close(self) -> None:
        """Close the port; closing a closed one does nothing."""

    def read_positions(self) -> BusReading:
        """Read every servo's position; raises BusReadError or BusGoneError."""

    def write_positions(self, ticks: Mapping[int, int]) -> None:
        """Send goal positions, ticks by servo id; raises BusGoneError."""

    def set_torque(self, ids: Iterable[int], enabled: bool) -> None:
        """Switch torque on or off and check that each servo took it; raises DeviceError."""

    def limit_torque(self, ids: Iterable[int], fraction: float) -> None:
        """Bound torque to a fraction, 0 to 1, of what the servo can give."""


def decode_position(raw: int, size: int, sign_bit: int | None) -> int:
    """Turn a position register's bits into signed ticks."""
    if sign_bit is None:
        top = 1 << (8 * size - 1)
        return (raw ^ top) - top
    magnitude = raw & ((1 << sign_bit) - 1)
    return -magnitude if raw & (1 << sign_bit) else magnitude


def encode_position(ticks: int, size: int, sign_bit: int | None) -> Sequence[int]:
    """Turn signed ticks into a register's bytes, low byte first."""
    if sign_bit is None:
        raw = ticks & ((1 << (8 * size)) - 1)
    else:
        raw = abs(ticks) | (1 << sign_bit if ticks < 0 else 0)
    return list(raw.to_bytes(size, 'little'))

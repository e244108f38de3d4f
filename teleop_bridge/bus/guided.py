# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Guide a person through the calibration of servo arms: middle pose, sweeps, matched poses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
import time
from typing import Protocol

import numpy as np

from teleop_bridge.bus.calibration import Calibration, ServoCalibration
from teleop_bridge.bus.servo_bus import BusReadError, ServoBus
from teleop_bridge.exceptions import DeviceError
from teleop_bridge.mapping import LeaderMapping
from teleop_bridge.rig.schema import Rig

READ_S = 0.02
_TRIES = 5
_LEAST_SWEEP = 0.02  # of a turn: less is a joint that was forgotten


class Guide(Protocol):
    """Speaks with the person at the arms."""

    def ask(self, text: str) -> None:
        """Say what to do and wait until it is done."""

    def ask_meanwhile(self, text: str, work: Callable[[], None]) -> None:
        """Say what to do, and work again and again until it is done."""


def raw_calibration(names: Sequence[str], ids: Sequence[int], resolution: int) -> Calibration:
    """Return what stands for a calibration until there is one: every tick is in range."""
    return Calibration(
        {
            name: ServoCalibration(id=i, zero=resolution // 2, range_min=0, range_max=resolution)
            for name, i in zip(names, ids, strict=True)
        }
    )


def read_ticks(bus: ServoBus) -> dict[int, int]:
    """Read all positions; a lost reply is asked for again, raises DeviceError after a few."""
    for _ in range(_TRIES):
        try:
            return bus.read_positions().ticks
        except BusReadError as error:
            last = error
    raise last


class Sweep:
    """The middle and the extremes of each servo, ticks by id."""

    def __init__(self, middle: Mapping[int, int], resolution: int) -> None:
        self._middle = dict(middle)
        self._resolution = resolution
        self._last = dict(middle)
        self._low, self._high = dict(middle), dict(middle)
        self._seam: set[int] = set()

    def update(self, ticks: Mapping[int, int]) -> None:
        """Take one reading."""
        for servo_id, value in ticks.items():
            if abs(value - self._last[servo_id]) > self._resolution // 2:
                self._seam.add(servo_id)
            self._last[servo_id] = value
            self._low[servo_id] = min(self._low[servo_id], value)
            self._high[servo_id] = max(self._high[servo_id], value)

    def servos(self, names: Mapping[int, str]) -> dict[str, ServoCalibration]:
        """Return the joints by name; raises DeviceError, naming those that were not swept well."""
        if self._seam:
            joints = ', '.join(names[servo_id] for servo_id in sorted(self._seam))
            raise DeviceError(
                f'{joints}: passed the end of the encoder, where it jumps from its last tick to '
                "0: set the servo's middle to half a turn with the maker's program, then again"
            )
        least = _LEAST_SWEEP * self._resolution
        still = [n for i, n in names.items() if self._high[i] - self._low[i] < least]
        if still:
            raise DeviceError(f'{", ".join(still)}: expected to be swept, found at rest')
        return {
            name: ServoCalibration(
                id=i, zero=self._middle[i], range_min=self._low[i], range_max=self._high[i]
            )
            for i, name in names.items()
        }


def calibrate_arm(
    bus: ServoBus, names: Mapping[int, str], guide: Guide, *, arm: str, serial_number: str
) -> Calibration:
    """Take an arm's middle and ranges by hand; ``bus`` is open, ``names`` are joints by id.

    Raises DeviceError where a joint was not swept, or passed its encoder's end.
    """
    guide.ask(f'{arm}: hold the arm, its torque goes off now')
    bus.set_torque(names, False)
    guide.ask(f'{arm}: bring every joint to the middle of its range')
    sweep = Sweep(read_ticks(bus), bus.model.resolution)

    def read() -> None:
        sweep.update(read_ticks(bus))
        time.sleep(READ_S)

    guide.ask_meanwhile(f'{arm}: move every joint from end to end, one after another', read)
    made = datetime.now(timezone.utc).isoformat(timespec='seconds')
    return Calibration(sweep.servos(names), serial_number=serial_number, made=made)


def angles(calibration: Calibration, ticks: Mapping[int, int], resolution: int) -> list[float]:
    """Convert a reading to rad, in the calibration's order."""
    return [servo.to_angle(ticks[servo.id], resolution) for servo in calibration.servos.values()]


def matched_residual(
    rig: Rig,
    leader: Calibration,
    follower: Calibration,
    poses: Sequence[tuple[Mapping[int, int], Mapping[int, int]]],
    *,
    resolutions: tuple[int, int],
) -> dict[str, float]:
    """Return by joint how far leader (mapped) and follower are apart at matched poses, rad.

    ``poses`` are readings of both, held alike; the figure is the largest over the poses.
    """
    worst = dict.fromkeys(rig.joint_names, 0.0)
    mapping = LeaderMapping(rig)
    for lead, follow in poses:
        mapping.reset()
        mapped = mapping.map(tuple(leader.servos), angles(leader, lead, resolutions[0]), 0)
        measured = dict(
            zip(follower.servos, angles(follower, follow, resolutions[1]), strict=True)
        )
        for name, position in zip(mapped.names, mapped.positions, strict=True):
            worst[name] = max(worst[name], abs(float(position) - measured[name]))
    return worst


def with_residual(calibration: Calibration, residual: Mapping[str, float]) -> Calibration:
    """Return a calibration that says how well it fits its partner."""
    return replace(calibration, residual_rad=float(np.max(list(residual.values()))))

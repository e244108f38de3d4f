# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Where a servo arm's zeros, directions and ranges are, as a file that a rig names."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import yaml

from teleop_bridge.exceptions import DeviceError

_SERVO_KEYS = {'id', 'zero', 'sign', 'range_min', 'range_max'}
_LEROBOT_KEYS = {'id', 'drive_mode', 'homing_offset', 'range_min', 'range_max'}


@dataclass(frozen=True)
class ServoCalibration:
    """One joint's servo: angle = sign * (ticks - zero) * 2 pi / resolution, rad."""

    id: int
    zero: int
    range_min: int
    range_max: int
    sign: int = 1

    def to_angle(self, ticks: int, resolution: int) -> float:
        """Convert ticks to rad."""
        return self.sign * (ticks - self.zero) * math.tau / resolution

    def to_ticks(self, angle: float, resolution: int) -> int:
        """Convert rad to ticks, held inside the calibrated range."""
        ticks = self.zero + round(self.sign * angle * resolution / math.tau)
        return min(max(ticks, self.range_min), self.range_max)


@dataclass(frozen=True)
class Calibration:
    """All joints of one arm, by joint name.

    ``serial_number`` is of the USB adapter the arm was calibrated on; empty where unknown.
    ``made`` is an ISO 8601 time, empty where unknown. ``sha256`` is of the file it was read from.
    """

    servos: dict[str, ServoCalibration]
    serial_number: str = ''
    made: str = ''
    residual_rad: float | None = None
    sha256: str = field(default='', compare=False)

    @property
    def ids(self) -> tuple[int, ...]:
        """Servo ids in joint order."""
        return tuple(servo.id for servo in self.servos.values())

    def age_days(self, now: datetime) -> float | None:
        """Return the calibration's age at ``now`` (aware), days; None where it is undated."""
        if not self.made:
            return None
        return (now - datetime.fromisoformat(self.made)).total_seconds() / 86400


def load_calibration(path: Path) -> Calibration:
    """Read our YAML form or LeRobot's JSON; raises DeviceError naming file and key."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DeviceError(f'{path}: calibration cannot be read ({error.strerror})') from error
    try:
        content = json.loads(data) if path.suffix == '.json' else yaml.safe_load(data)
    except (ValueError, yaml.YAMLError) as error:
        raise DeviceError(f'{path}: not a calibration file ({error})') from error
    if not isinstance(content, dict):
        raise DeviceError(f'{path}: expected a mapping of joints, found {type(content).__name__}')
    sha256 = hashlib.sha256(data).hexdigest()
    if 'servos' not in content:
        return Calibration(_from_lerobot(path, content), sha256=sha256)
    servos = {name: _servo(path, name, entry) for name, entry in content['servos'].items()}
    _refuse_repeated_ids(path, servos)
    return Calibration(
        servos,
        serial_number=str(content.get('serial_number', '')),
        made=str(content.get('made', '')),
        residual_rad=content.get('residual_rad'),
        sha256=sha256,
    )


def save_calibration(path: Path, calibration: Calibration) -> None:
    """Write our YAML form, dated now unless it is dated already."""
    made = calibration.made or datetime.now(timezone.utc).isoformat(timespec='seconds')
    content = {
        'serial_number': calibration.serial_number,
        'made': made,
        'residual_rad': calibration.residual_rad,
        'servos': {name: asdict(servo) for name, servo in calibration.servos.items()},
    }
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding='utf-8')


def check_fit(calibration: Calibration, ticks: dict[int, int]) -> None:
    """Check that an arm is inside its calibrated ranges; raises DeviceError, naming joints."""
    outside = [
        f'{name} at {ticks[servo.id]}, range {servo.range_min} to {servo.range_max}'
        for name, servo in calibration.servos.items()
        if not servo.range_min <= ticks[servo.id] <= servo.range_max
    ]
    if outside:
        raise DeviceError(f'the calibration does not fit this arm: {"; ".join(outside)} (ticks)')


def _servo(path: Path, name: str, entry: Any) -> ServoCalibration:
    if (
        not isinstance(entry, dict)
        or set(entry) - _SERVO_KEYS
        or _SERVO_KEYS - {'sign'} - set(entry)
    ):
        raise DeviceError(f"{path}: servo '{name}': expected keys {sorted(_SERVO_KEYS)}")
    servo = ServoCalibration(**entry)
    if servo.sign not in (1, -1):
        raise DeviceError(f"{path}: servo '{name}': sign must be 1 or -1, found {servo.sign}")
    if servo.range_min >= servo.range_max:
        raise DeviceError(f"{path}: servo '{name}': range_min is not below range_max")
    return servo


def _from_lerobot(path: Path, content: dict[str, Any]) -> dict[str, ServoCalibration]:
    """Convert: LeRobot keeps the homing offset in the servo, zero is the middle of the range."""
    servos = {}
    for name, entry in content.items():
        if not isinstance(entry, dict) or not _LEROBOT_KEYS <= set(entry):
            raise DeviceError(f"{path}: joint '{name}': expected keys {sorted(_LEROBOT_KEYS)}")
        low, high = int(entry['range_min']), int(entry['range_max'])
        servos[name] = ServoCalibration(
            id=int(entry['id']),
            zero=(low + high) // 2,
            range_min=low,
            range_max=high,
            sign=-1 if entry['drive_mode'] else 1,
        )
    _refuse_repeated_ids(path, servos)
    return servos


def _refuse_repeated_ids(path: Path, servos: dict[str, ServoCalibration]) -> None:
    seen: dict[int, str] = {}
    for name, servo in servos.items():
        if servo.id in seen:
            raise DeviceError(
                f"{path}: servo id {servo.id} is given to both '{seen[servo.id]}' and '{name}'"
            )
        seen[servo.id] = name

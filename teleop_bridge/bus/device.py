# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A servo arm as a rig declares it under ``devices``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from teleop_bridge.bus.arm import BusArm
from teleop_bridge.bus.calibration import Calibration, load_calibration
from teleop_bridge.bus.models import MODELS
from teleop_bridge.bus.ports import list_ports, refuse_swapped, resolve_port
from teleop_bridge.bus.sdk_bus import DEFAULT_REPLY_TIMEOUT_NS, SdkBus
from teleop_bridge.bus.servo_bus import ServoModel
from teleop_bridge.clock import SessionClock
from teleop_bridge.exceptions import DeviceError, RigError
from teleop_bridge.rig.schema import Rig
from teleop_bridge.rig.section import Section


@dataclass(frozen=True)
class BusDevice:
    """What the rig says of one arm on a serial bus.

    ``port`` is a serial number or a path under /dev/serial/by-id.
    """

    name: str
    model: ServoModel
    port: str
    calibration: Calibration
    rate_hz: float
    baud_rate: int
    reply_timeout_ns: int
    stream: str = ''  # that carries its joints; empty: the only one of its role
    max_calibration_age_days: float | None = None
    calibration_path: Path = Path()
    follow_torque: float = 0.0  # of a leader that follows while a policy drives, 0 to 1; 0: never
    follow_speed: float = 1.5  # rad/s, at most

    @property
    def joints(self) -> tuple[str, ...]:
        """Return the arm's joints, as this rig names them."""
        return tuple(self.calibration.servos)

    def check_age(self, now: datetime) -> None:
        """Refuse a calibration older than the rig allows; raises DeviceError.

        One without a date, such as LeRobot's, is refused as well where an age is asked for.
        """
        limit, age = self.max_calibration_age_days, self.calibration.age_days(now)
        if limit is None or (age is not None and age <= limit):
            return
        found = 'no date in it' if age is None else f'{age:.0f} days'
        raise DeviceError(
            f'device {self.name}: expected a calibration of at most {limit:.0f} days, '
            f'found {found}: run flywheel calibrate'
        )

    def arm(self, clock: SessionClock) -> BusArm:
        """Return the arm, not opened; each opening looks for the port anew."""
        return BusArm(make_bus=self.bus, calibration=self.calibration, clock=clock)

    def bus(self) -> SdkBus:
        """Return the bus, not opened; raises DeviceError where it is not the calibrated one."""
        port = resolve_port(self.port, list_ports())
        refuse_swapped(port, self.calibration.serial_number)
        return SdkBus(
            port=port.path,
            model=self.model,
            ids=self.calibration.ids,
            baud_rate=self.baud_rate,
            reply_timeout_ns=self.reply_timeout_ns,
        )


def bus_devices(rig: Rig, side: str) -> tuple[BusDevice, ...]:
    """Return the rig's arms of one side: ``leader``, or ``leader_left`` and ``leader_right``.

    Raises what ``bus_device`` raises, and RigError where two arms have a joint of one name.
    """
    found = [bus_device(rig, name) for name in rig.devices if is_arm(name, side)]
    devices = tuple(device for device in found if device is not None)
    seen: dict[str, str] = {}
    for device in devices:
        for joint in device.joints:
            if joint in seen:
                raise RigError(
                    f"{rig.path}: devices.{device.name}: joint '{joint}' is one of "
                    f'devices.{seen[joint]} too: give each a prefix'
                )
            seen[joint] = device.name
    return devices


def is_arm(name: str, side: str) -> bool:
    """Tell whether a device of that name is an arm of that side, leader or follower."""
    return name == side or name.startswith(f'{side}_')


def bus_device(
    rig: Rig, name: str, *, uncalibrated: Calibration | None = None
) -> BusDevice | None:
    """Return the rig's device of that name, None where it declares none.

    ``uncalibrated`` stands for a calibration file that is still to be written.
    Raises RigError for a wrong declaration, DeviceError for a calibration that can't be read.
    """
    if name not in rig.devices:
        return None
    section = Section(rig.devices[name], file=rig.path, where=f'devices.{name}')
    family = section.text('bus')
    if family not in MODELS:
        section.fail('bus', f"expected one of {', '.join(MODELS)}, found '{family}'")
    path = Path(rig.path).parent / Path(section.text('calibration')).expanduser()
    device = BusDevice(
        name,
        model=MODELS[family],
        port=section.text('port'),
        calibration=_prefixed(uncalibrated or load_calibration(path), section.text('prefix', '')),
        calibration_path=path,
        rate_hz=section.number('rate_hz', rig.follower.rate_hz, above=0),
        baud_rate=section.whole('baud_rate', 1_000_000),
        reply_timeout_ns=section.nanoseconds('reply_timeout_ms', DEFAULT_REPLY_TIMEOUT_NS),
        stream=section.text('stream', ''),
        max_calibration_age_days=section.number('max_calibration_age_days', None, above=0),
        follow_torque=section.number('follow_torque', 0.0, low=0),
        follow_speed=section.number('follow_speed', BusDevice.follow_speed, above=0),
    )
    if device.follow_torque > 1 or (device.follow_torque and not is_arm(name, 'leader')):
        section.fail('follow_torque', 'expected 0 to 1, of a leader')
    section.done()
    return device


def _prefixed(calibration: Calibration, prefix: str) -> Calibration:
    servos = {f'{prefix}{name}': servo for name, servo in calibration.servos.items()}
    return replace(calibration, servos=servos)


def require_joints(devices: Sequence[BusDevice], names: Sequence[str], rig: Rig) -> None:
    """Check that arms have the joints that are looked for; raises RigError, naming one."""
    known = [joint for device in devices for joint in device.joints]
    if missing := [name for name in names if name not in known]:
        arms = ', '.join(device.name for device in devices)
        raise RigError(
            f"{rig.path}: devices.{arms}: joint '{missing[0]}' is not in the calibration "
            f'(joints: {", ".join(known)})'
        )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A servo arm as a rig declares it under ``devices``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from teleop_bridge.bus.arm import BusArm
from teleop_bridge.bus.calibration import Calibration, load_calibration
from teleop_bridge.bus.models import MODELS
from teleop_bridge.bus.ports import list_ports, refuse_swapped, resolve_port
from teleop_bridge.bus.sdk_bus import DEFAULT_REPLY_TIMEOUT_NS, SdkBus
from teleop_bridge.bus.servo_bus import ServoModel
from teleop_bridge.clock import SessionClock
from teleop_bridge.exceptions import RigError
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

    def arm(self, clock: SessionClock) -> BusArm:
        """Return the arm, not opened; each opening looks for the port anew."""
        return BusArm(make_bus=self._bus, calibration=self.calibration, clock=clock)

    def _bus(self) -> SdkBus:
        port = resolve_port(self.port, list_ports())
        refuse_swapped(port, self.calibration.serial_number)
        return SdkBus(
            port=port.path,
            model=self.model,
            ids=self.calibration.ids,
            baud_rate=self.baud_rate,
            reply_timeout_ns=self.reply_timeout_ns,
        )


def bus_device(rig: Rig, name: str) -> BusDevice | None:
    """Return the rig's device of that name, None where it declares none.

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
        calibration=load_calibration(path),
        rate_hz=section.number('rate_hz', rig.follower.rate_hz, above=0),
        baud_rate=section.whole('baud_rate', 1_000_000),
        reply_timeout_ns=section.nanoseconds('reply_timeout_ms', DEFAULT_REPLY_TIMEOUT_NS),
    )
    section.done()
    return device


def require_joints(device: BusDevice, names: tuple[str, ...], rig: Rig) -> None:
    """Check that an arm has the joints that are looked for; raises RigError, naming one."""
    missing = [name for name in names if name not in device.calibration.servos]
    if missing:
        known = ', '.join(device.calibration.servos)
        raise RigError(
            f"{rig.path}: devices.{device.name}: joint '{missing[0]}' is not in its calibration "
            f'(joints: {known})'
        )

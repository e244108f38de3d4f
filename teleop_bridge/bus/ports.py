# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Find a serial device by what does not change when plugs are swapped."""

from __future__ import annotations

from dataclasses import dataclass
import os
from pathlib import Path

from teleop_bridge.exceptions import DeviceError, MissingDependencyError


@dataclass(frozen=True)
class SerialPort:
    """A serial device that is plugged in now."""

    path: str
    serial_number: str = ''
    description: str = ''


def list_ports() -> list[SerialPort]:
    """List USB serial devices; raises MissingDependencyError without pyserial."""
    try:
        from serial.tools import list_ports as pyserial
    except ImportError as error:
        raise MissingDependencyError(
            'serial devices need pyserial: pip install pyserial'
        ) from error
    return [
        SerialPort(port.device, port.serial_number or '', port.description or '')
        for port in pyserial.comports()
        if port.vid is not None
    ]


def resolve_port(name: str, ports: list[SerialPort]) -> SerialPort:
    """Find the port that ``name`` means: a serial number, or a path under /dev/serial/by-id.

    Raises DeviceError where it is not plugged in, and for names such as /dev/ttyUSB0, which belong
    to whatever was plugged in first.
    """
    if '/' not in name:
        for port in ports:
            if port.serial_number == name:
                return port
        found = ', '.join(port.serial_number or port.path for port in ports) or 'none'
        raise DeviceError(f"no serial device with number '{name}' is plugged in (found: {found})")
    path = Path(name)
    if path.parent == Path('/dev') and path.name.startswith('tty'):
        raise DeviceError(
            f'{name}: this name changes with the order of plugging; '
            'give the serial number or the path under /dev/serial/by-id'
        )
    if not path.exists():
        raise DeviceError(f'{name}: not plugged in')
    real = os.path.realpath(name)
    for port in ports:
        if os.path.realpath(port.path) == real:
            return SerialPort(name, port.serial_number, port.description)
    return SerialPort(name)


def refuse_swapped(port: SerialPort, calibrated_on: str) -> None:
    """Refuse an arm whose calibration was made on another adapter; raises DeviceError."""
    if calibrated_on and port.serial_number and port.serial_number != calibrated_on:
        raise DeviceError(
            f'{port.path}: this is adapter {port.serial_number}, but the calibration is of '
            f'{calibrated_on}: leader and follower may be swapped'
        )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel find-port``: which name a serial device has, by unplugging it."""

from __future__ import annotations

import argparse
import sys

from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.exceptions import UsageError
from teleop_bridge.bus.ports import list_ports
from teleop_bridge.exceptions import DeviceError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare that there are none."""


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """List what is plugged in, then tell which of them was unplugged."""
    before = list_ports()
    if not before:
        raise DeviceError('find-port: expected USB serial devices, found none plugged in')
    output.table(
        ('serial number', 'path', 'description'),
        [(port.serial_number or 'none', port.path, port.description) for port in before],
    )
    print('unplug the device whose name you want, then press Enter', file=sys.stderr, flush=True)
    if not sys.stdin.readline():
        raise UsageError('find-port: expected Enter, found the end of input')
    after = {port.path for port in list_ports()}
    gone = [port for port in before if port.path not in after]
    if len(gone) != 1:
        raise DeviceError(f'find-port: expected one device to be unplugged, found {len(gone)}')
    (port,) = gone
    if not port.serial_number:
        raise DeviceError(
            f'{port.path}: this adapter has no serial number: name it by its path under '
            '/dev/serial/by-id or /dev/serial/by-path'
        )
    output.line(f'port: {port.serial_number}')
    output.document({'port': port.serial_number, 'path': port.path})
    return Exit.OK

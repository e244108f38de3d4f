# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel calibrate``: a rig's servo arms, leader and follower as a pair."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
import select
import sys

from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.exceptions import UsageError
from teleop_bridge.bus.calibration import Calibration, load_calibration, save_calibration
from teleop_bridge.bus.device import bus_device, BusDevice
from teleop_bridge.bus.guided import (
    calibrate_arm,
    matched_residual,
    raw_calibration,
    read_ticks,
    with_residual,
)
from teleop_bridge.bus.ports import list_ports, resolve_port
from teleop_bridge.bus.sdk_bus import SdkBus
from teleop_bridge.exceptions import DeviceError
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig

APART_RAD = 0.1  # at matched poses: more is felt as a jump


class TerminalGuide:
    """Speaks on standard error, listens on standard input."""

    def ask(self, text: str) -> None:
        """Say what to do and wait for Enter."""
        self._say(text)
        if not sys.stdin.readline():
            raise UsageError('calibrate: expected Enter after each step, found the end of input')

    def ask_meanwhile(self, text: str, work: Callable[[], None]) -> None:
        """Say what to do, and work until Enter."""
        self._say(text)
        while not select.select([sys.stdin], [], [], 0)[0]:
            work()
        sys.stdin.readline()

    def _say(self, text: str) -> None:
        print(f'{text}, then press Enter', file=sys.stderr, flush=True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('rig', type=Path, help='the rig file, whose devices are calibrated')
    parser.add_argument(
        '--arm', action='append', help='a device to calibrate (leader and follower); repeatable'
    )
    parser.add_argument('--poses', type=int, default=3, help='matched poses of the pair (3)')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Calibrate each arm, then compare the pair, then write the files."""
    rig = load_rig(arguments.rig)
    names = arguments.arm or [name for name in ('leader', 'follower') if name in rig.devices]
    devices = {name: _device(rig, name) for name in names}
    _refuse_one_port(list(devices.values()))
    guide = TerminalGuide()
    residual: dict[str, float] = {}
    with ExitStack() as stack:
        buses: dict[str, SdkBus] = {}
        for name, device in devices.items():
            buses[name] = device.bus()
            buses[name].open()
            stack.callback(buses[name].close)
        made = {
            name: calibrate_arm(
                buses[name],
                {servo.id: joint for joint, servo in device.calibration.servos.items()},
                guide,
                arm=name,
                serial_number=resolve_port(device.port, list_ports()).serial_number,
            )
            for name, device in devices.items()
        }
        if set(made) == {'leader', 'follower'} and rig.mapping:
            residual = _compare(rig, buses, made, guide, poses=arguments.poses)
            made = {name: with_residual(entry, residual) for name, entry in made.items()}
    for name, device in devices.items():
        save_calibration(device.calibration_path, made[name])
        output.note(f'wrote {device.calibration_path}')
    if residual:
        output.table(
            ('joint', 'apart at matched poses'),
            [(joint, f'{value:.3f} rad') for joint, value in residual.items()],
        )
    apart = [joint for joint, value in residual.items() if value > APART_RAD]
    if apart:
        output.line(
            f'{", ".join(apart)}: more than {APART_RAD} rad apart: check sign and offset in '
            f'{rig.path}, leader.mapping, or calibrate again with the poses held alike'
        )
    output.document({'files': [str(d.calibration_path) for d in devices.values()], **residual})
    return Exit.BAD_DATA if apart else Exit.OK


def _device(rig: Rig, name: str) -> BusDevice:
    """Return an arm with the ids of its calibration so far, or 1, 2, 3 in the rig's order."""
    sources = {row.joint: row.source for row in rig.mapping}
    leads = name.startswith('leader')
    joints = [sources.get(j, j) if leads else j for j in rig.joint_names]
    raw = raw_calibration(joints, range(1, len(joints) + 1), 4096)
    device = bus_device(rig, name, uncalibrated=raw)
    if device is None:
        known = ', '.join(rig.devices) or 'none'
        raise UsageError(f"{rig.path}: devices: expected '{name}', found {known}")
    path = device.calibration_path
    if path.suffix == '.json':
        raise UsageError(
            f"{path}: devices.{name}.calibration: .json is LeRobot's form: name a .yaml to write"
        )
    if path.exists():
        kept = bus_device(rig, name, uncalibrated=_keep_ids(load_calibration(path)))
        assert kept is not None
        return kept
    return device


def _keep_ids(old: Calibration) -> Calibration:
    ids = [servo.id for servo in old.servos.values()]
    raw = raw_calibration(list(old.servos), ids, 4096)
    # of another adapter than before: refused, since leader and follower may be swapped
    return Calibration(raw.servos, serial_number=old.serial_number)


def _refuse_one_port(devices: list[BusDevice]) -> None:
    ports = {resolve_port(device.port, list_ports()).path for device in devices}
    if len(ports) < len(devices):
        raise DeviceError(f'{devices[0].port}: leader and follower are the same device')


def _compare(
    rig: Rig,
    buses: Mapping[str, SdkBus],
    made: Mapping[str, Calibration],
    guide: TerminalGuide,
    *,
    poses: int,
) -> dict[str, float]:
    readings = []
    for number in range(1, poses + 1):
        guide.ask(f'both: hold leader and follower in the same pose ({number} of {poses})')
        readings.append((read_ticks(buses['leader']), read_ticks(buses['follower'])))
    resolutions = buses['leader'].model.resolution, buses['follower'].model.resolution
    return matched_residual(
        rig, made['leader'], made['follower'], readings, resolutions=resolutions
    )

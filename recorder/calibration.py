# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The calibration files that a rig names: the same at every arming as when the session began."""

from __future__ import annotations

from collections.abc import Mapping
import hashlib
from pathlib import Path

from recorder.gate import Fault
from teleop_bridge.rig.schema import Rig

_KEY = 'calibration'


def calibration_digests(rig: Rig) -> dict[str, str]:
    """Return the SHA-256 of each calibration file of cameras and devices, empty if absent.

    Their paths are relative to the rig file.
    """
    named = [camera.calibration for camera in rig.cameras]
    named += [str(device.get(_KEY, '')) for device in rig.devices.values()]
    folder = Path(rig.path).parent
    return {name: _digest(folder / name) for name in named if name}


def calibration_faults(begun: Mapping[str, str], now: Mapping[str, str]) -> list[Fault]:
    """Return what changed since the session began."""
    return [
        Fault(
            name,
            'this calibration changed since the session began',
            'begin another session, so that its episodes are told apart',
        )
        for name, digest in begun.items()
        if now.get(name) != digest
    ]


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ''

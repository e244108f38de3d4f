# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Where a rig's URDF is: a path beside the rig file, or package:// of ROS or Python."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from teleop_bridge.exceptions import RigError
from teleop_bridge.rig.schema import Rig

_PACKAGE = 'package://'


def urdf_file(rig: Rig) -> Path:
    """Return the path of the rig's URDF; raises RigError where it is not there."""
    if not rig.urdf:
        raise RigError(f'{rig.path}: urdf: required here')
    for path in _candidates(rig):
        if path.is_file():
            return path
    raise RigError(f'{rig.path}: urdf: {rig.urdf} was not found')


def _candidates(rig: Rig) -> list[Path]:
    if not rig.urdf.startswith(_PACKAGE):
        return [Path(rig.path).parent / Path(rig.urdf).expanduser()]
    package, _, inner = rig.urdf.removeprefix(_PACKAGE).partition('/')
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    found = [Path(prefix, 'share', package, inner) for prefix in prefixes if prefix]
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    folders = spec.submodule_search_locations if spec else None
    return found + [Path(folder, inner) for folder in folders or ()]

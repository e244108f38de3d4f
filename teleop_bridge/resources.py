# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Files that come with the package: configurations, from the source tree or where they went."""

from __future__ import annotations

import os
from pathlib import Path
import sys

from teleop_bridge.exceptions import FlywheelError

PACKAGE = 'teleop_flywheel'


def share_folders() -> tuple[Path, ...]:
    """Return where our data files may be: the source tree, ROS's share folders, pip's."""
    prefixes = [*os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix]
    installed = (Path(prefix, 'share', PACKAGE) for prefix in prefixes if prefix)
    return (Path(__file__).parents[1], *installed)


def data_file(relative: str) -> Path:
    """Return one of our files by its path in the repository, as config/rigs/so101_sim.yaml.

    Raises FlywheelError where it is not installed.
    """
    for folder in share_folders():
        path = folder / relative
        if path.is_file():
            return path
    searched = ', '.join(str(folder) for folder in share_folders())
    raise FlywheelError(f'{relative}: expected in one of {searched}; found in none')

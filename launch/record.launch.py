# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Record beside an existing stack: its topics, declared in a rig file, and our recorder."""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import OpaqueFunction

from teleop_bridge.nodes import launching
from teleop_bridge.rig import bringup


def _start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    rig = launching.load_declared_rig(context)
    facts = launching.texts(context, launching.RECORDING_ARGUMENTS)
    return [launching.node(process, context) for process in bringup.recording(rig, **facts)]


def generate_launch_description() -> LaunchDescription:
    """Return the recorder and the scorer."""
    return LaunchDescription(
        [
            *launching.declare_rig(),
            *launching.declare(launching.RECORDING_ARGUMENTS),
            OpaqueFunction(function=_start),
        ]
    )

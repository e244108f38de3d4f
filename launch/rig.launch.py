# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Start a rig from its file: other packages' drivers, our cameras, leader, follower, recorder."""

from __future__ import annotations

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction

from teleop_bridge.nodes import launching
from teleop_bridge.rig import bringup

POLICY_ARGUMENTS = {
    'policy': "policy plugin that may drive, 'module:Class' or onnx (empty: none)",
    'checkpoint': "the policy's file",
}


def _start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    rig = launching.load_declared_rig(context)
    facts = launching.texts(context, launching.RECORDING_ARGUMENTS)
    plugin, checkpoint = launching.texts(context, POLICY_ARGUMENTS).values()
    processes = [
        *bringup.cameras(rig),
        *bringup.driving(rig, tasks=facts['tasks'], operator_id=facts['operator_id']),
    ]
    if plugin:
        processes.append(bringup.policy(rig, plugin=plugin, checkpoint=checkpoint))
    if launching.flag(context, 'record'):
        processes.extend(bringup.recording(rig, **facts))
    actions = launching.includes(rig)
    actions.extend(launching.node(process, context) for process in processes)
    if launching.flag(context, 'rviz'):
        actions.append(launching.rviz())
    return actions


def generate_launch_description() -> LaunchDescription:
    """Return everything that the rig file names."""
    return LaunchDescription(
        [
            *launching.declare_rig(),
            *launching.declare(POLICY_ARGUMENTS),
            *launching.declare(launching.RECORDING_ARGUMENTS),
            DeclareLaunchArgument('record', default_value='true', description='start recorder'),
            DeclareLaunchArgument('rviz', default_value='false', description='open RViz'),
            OpaqueFunction(function=_start),
        ]
    )

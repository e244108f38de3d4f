# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Start the simulated rig: an SO-101 in MuJoCo, a scripted operator, and all that a rig has."""

from __future__ import annotations

from pathlib import Path

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

from teleop_bridge.nodes import launching
from teleop_bridge.resources import data_file
from teleop_bridge.rig import bringup

SIM_ARGUMENTS = {
    'rig': (str(data_file('config/rigs/so101_sim.yaml')), 'rig file of the simulated rig'),
    'tasks': (str(data_file('config/tasks/pick_place.yaml')), 'tasks file'),
    'task': ('pick_place', 'name of the task that is recorded'),
    'policy': ('teleop_bridge.sim.flawed:FlawedPolicy', 'policy plugin that may drive'),
}


def _start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    rig = launching.load_declared_rig(context)
    tasks = launching.texts(context, ['tasks'])['tasks']
    return [
        launching.node(process, context, stops_all=process.executable == 'sim_rig')
        for process in bringup.simulation(rig, tasks=tasks)
    ]


def generate_launch_description() -> LaunchDescription:
    """Return the simulation and, from rig.launch.py, everything that its rig file names."""
    arguments = [
        DeclareLaunchArgument(name, default_value=value, description=text)
        for name, (value, text) in SIM_ARGUMENTS.items()
    ]
    whole_rig = PythonLaunchDescriptionSource(str(Path(__file__).with_name('rig.launch.py')))
    passed = {name: LaunchConfiguration(name) for name in SIM_ARGUMENTS}
    include = IncludeLaunchDescription(whole_rig, launch_arguments=passed.items())
    return LaunchDescription([*arguments, include, OpaqueFunction(function=_start)])

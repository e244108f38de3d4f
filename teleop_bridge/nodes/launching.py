# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the launch files share: their arguments, the rig they name, nodes from process entries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ament_index_python.packages import get_package_share_path, PackageNotFoundError
from launch import LaunchContext, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, Shutdown
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from teleop_bridge.exceptions import RigError
from teleop_bridge.resources import data_file, PACKAGE
from teleop_bridge.rig.bringup import Process
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig

CLOSING_SECONDS = '60'  # the recorder closes its bag before it ends, launch's default is 5 s

RECORDING_ARGUMENTS = {
    'output': 'folder that gets one bag folder per attempt',
    'tasks': 'tasks file: texts, locations, reasons (empty: none)',
    'checks': 'checks file: thresholds (empty: none)',
    'task': 'name of the task that is recorded',
    'operator_id': "operator's pseudonym",
    'policy_checkpoint': 'checkpoint of the policy that drives, as it goes into the bag',
}
DEFAULTS = {'output': 'bags'}


def declare(arguments: dict[str, str]) -> list[LaunchDescriptionEntity]:
    """Declare arguments, each with its description; empty by default where none is better."""
    return [
        DeclareLaunchArgument(name, default_value=DEFAULTS.get(name, ''), description=text)
        for name, text in arguments.items()
    ]


def declare_rig() -> list[LaunchDescriptionEntity]:
    """Declare the arguments of every launch file that starts from a rig file."""
    return [
        DeclareLaunchArgument('rig', description='rig file (YAML)'),
        DeclareLaunchArgument('namespace', default_value='', description='namespace of our nodes'),
    ]


def texts(context: LaunchContext, names: Iterable[str]) -> dict[str, str]:
    """Return the values of launch arguments by name."""
    return {name: LaunchConfiguration(name).perform(context) for name in names}


def flag(context: LaunchContext, name: str) -> bool:
    """Return a launch argument that is true or false; raises RigError for anything else."""
    value = LaunchConfiguration(name).perform(context)
    if value.lower() not in ('true', 'false'):
        raise RigError(f"launch argument {name}: expected true or false, found '{value}'")
    return value.lower() == 'true'


def load_declared_rig(context: LaunchContext) -> Rig:
    """Load the rig file that the launch argument names, seen from where ros2 launch was called."""
    return load_rig(Path(LaunchConfiguration('rig').perform(context)).absolute())


def node(process: Process, context: LaunchContext, *, stops_all: bool = False) -> Node:
    """Return the launch action that starts one of our nodes; its end may stop all others."""
    # launch_ros reads a bare string as YAML, so that operator '007' would become the integer 7
    parameters = {
        name: ParameterValue(value, value_type=str) if isinstance(value, str) else value
        for name, value in process.parameters.items()
    }
    return Node(
        package=PACKAGE,
        executable=process.executable,
        name=process.name,
        namespace=LaunchConfiguration('namespace').perform(context),
        parameters=[parameters],
        output='screen',
        sigterm_timeout=CLOSING_SECONDS,
        on_exit=Shutdown(reason=f'{process.name} ended') if stops_all else None,
    )


def rviz() -> Node:
    """Return the launch action that opens RViz on our view of a rig."""
    path = str(data_file('config/rviz/rig.rviz'))
    return Node(package='rviz2', executable='rviz2', name='rviz2', arguments=['-d', path])


def includes(rig: Rig) -> list[LaunchDescriptionEntity]:
    """Return the launch files of other packages that the rig names.

    Raises RigError where a package or its file is not installed.
    """
    actions: list[LaunchDescriptionEntity] = []
    for entry in rig.launch:
        where = f'{rig.path}: launch: package {entry.package}'
        try:
            share = get_package_share_path(entry.package)
        except PackageNotFoundError as error:
            raise RigError(f'{where}: expected an installed package, found none') from error
        found = [path for path in (share / entry.file, share / 'launch' / entry.file)
                 if path.is_file()]
        if not found:
            raise RigError(f'{where}: expected a launch file {entry.file} in {share}, found none')
        source = AnyLaunchDescriptionSource(str(found[0]))
        arguments = entry.arguments.items()
        actions.append(IncludeLaunchDescription(source, launch_arguments=arguments))
    return actions

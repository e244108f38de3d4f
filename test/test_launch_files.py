# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The launch files start what the rig file names, read by ROS 2's own launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

actions = pytest.importorskip('launch.actions', reason="needs ROS 2's launch, not on PyPI")
pytest.importorskip('launch_ros.actions', reason='needs launch_ros, not on PyPI')

from launch import LaunchContext  # noqa: E402
from launch.launch_description_sources import (  # noqa: E402
    get_launch_description_from_python_launch_file,
)
from launch_ros.actions import Node  # noqa: E402

from teleop_bridge.exceptions import RigError  # noqa: E402

LAUNCH = Path(__file__).parents[1] / 'launch'
RIG = """
rig: bench
joints: {wrist: {}}
leader: {mapping: {wrist: {source: wrist}}}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}
  sent: {topic: follower/command, type: sensor_msgs/msg/JointState, role: action, max_age_ms: 50}
  authority: {topic: authority, type: teleop_flywheel/msg/Authority, role: authority,
              max_age_ms: 50}
  front: {topic: camera/front/image_raw, type: sensor_msgs/msg/Image, role: camera, max_age_ms: 90}
cameras:
  front: {image: front, source: v4l2, device: /dev/v4l/by-id/front}
"""


def entities(file: str, **arguments: str) -> list[Any]:
    """Return what a launch file starts, includes and functions carried out."""
    context = LaunchContext()
    context.launch_configurations.update(arguments)
    found: list[Any] = []

    def visit(entity: Any) -> None:
        found.append(entity)
        if not isinstance(entity, Node):
            for child in entity.visit(context) or ():
                visit(child)

    visit(get_launch_description_from_python_launch_file(str(LAUNCH / file)))
    return found


def executables(found: list[Any]) -> list[str]:
    return [entity.node_executable for entity in found if isinstance(entity, Node)]


@pytest.fixture
def rig_file(tmp_path: Path) -> Path:
    path = tmp_path / 'bench.yaml'
    path.write_text(RIG)
    return path


def test_recording_alone_starts_the_recorder_and_the_scorer(rig_file: Path) -> None:
    found = entities('record.launch.py', rig=str(rig_file))
    assert executables(found) == ['recorder', 'episode_scorer']


def test_a_rig_starts_its_cameras_arms_and_recorder(rig_file: Path) -> None:
    found = entities('rig.launch.py', rig=str(rig_file), rviz='true')
    assert executables(found) == [
        'camera', 'leader', 'follower', 'recorder', 'episode_scorer', 'rviz2',
    ]


def test_a_policy_and_no_recorder_are_a_matter_of_arguments(rig_file: Path) -> None:
    found = entities('rig.launch.py', rig=str(rig_file), policy='onnx', record='false')
    assert executables(found) == ['camera', 'leader', 'follower', 'policy']


def test_another_packages_launch_file_is_included_with_its_arguments(
    rig_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = tmp_path / 'share' / 'realsense2_camera'
    (share / 'launch').mkdir(parents=True)
    (tmp_path / 'share/ament_index/resource_index/packages').mkdir(parents=True)
    (tmp_path / 'share/ament_index/resource_index/packages/realsense2_camera').touch()
    (share / 'launch' / 'rs_launch.py').write_text(
        'from launch import LaunchDescription\n'
        'from launch.actions import DeclareLaunchArgument\n\n\n'
        'def generate_launch_description():\n'
        "    return LaunchDescription([DeclareLaunchArgument('serial_no')])\n"
    )
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    entry = "{package: realsense2_camera, file: rs_launch.py, arguments: {serial_no: '7'}}"
    rig_file.write_text(f'{RIG}launch: [{entry}]')
    found = entities('rig.launch.py', rig=str(rig_file))
    (included,) = [e for e in found if isinstance(e, actions.IncludeLaunchDescription)]
    assert dict(included.launch_arguments) == {'serial_no': '7'}


def test_a_package_that_is_not_installed_is_named(rig_file: Path) -> None:
    rig_file.write_text(RIG + 'launch: [{package: no_such_driver, file: start.launch.py}]')
    with pytest.raises(RigError, match='no_such_driver: expected an installed package'):
        entities('rig.launch.py', rig=str(rig_file))


def test_the_simulated_rig_starts_whole() -> None:
    found = entities('sim.launch.py')
    assert sorted(executables(found)) == [
        'episode_scorer', 'follower', 'intervention', 'leader', 'policy', 'recorder',
        'sim_operator', 'sim_rig',
    ]

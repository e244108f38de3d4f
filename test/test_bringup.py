# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Which programs a rig needs follows from what its file declares."""

from __future__ import annotations

from teleop_bridge.resources import data_file
from teleop_bridge.rig import bringup
from teleop_bridge.rig.loader import load_rig, parse_rig

OBSERVED = """
rig: bench
joints: {wrist: {}}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}
"""

DRIVEN = """
rig: bench
joints: {wrist: {}}
leader: {mapping: {wrist: {source: wrist}}}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}
  sent: {topic: follower/command, type: sensor_msgs/msg/JointState, role: action, max_age_ms: 50}
  authority: {topic: authority, type: teleop_flywheel/msg/Authority, role: authority,
              max_age_ms: 50}
  proposed: {topic: policy/command, type: sensor_msgs/msg/JointState, role: policy_proposal,
             max_age_ms: 200, required: false}
  intervention: {topic: intervention, type: teleop_flywheel/msg/Intervention, role: intervention}
  front: {topic: camera/front/image_raw, type: sensor_msgs/msg/Image, role: camera, max_age_ms: 90}
  wrist: {topic: camera/wrist/image_raw, type: sensor_msgs/msg/Image, role: camera, max_age_ms: 90}
cameras:
  front: {image: front, source: v4l2, device: /dev/v4l/by-id/front}
  wrist: {image: wrist}
"""


def executables(processes: tuple[bringup.Process, ...]) -> list[str]:
    return [process.executable for process in processes]


def test_a_rig_that_others_drive_gets_no_driving_nodes() -> None:
    rig = parse_rig(OBSERVED, 'bench.yaml')
    assert bringup.driving(rig) == ()
    assert bringup.cameras(rig) == ()
    assert executables(bringup.recording(rig, output='bags')) == ['recorder', 'episode_scorer']


def test_a_driven_rig_gets_its_nodes_and_only_the_cameras_that_are_ours() -> None:
    rig = parse_rig(DRIVEN, 'bench.yaml')
    assert executables(bringup.driving(rig)) == ['leader', 'follower', 'intervention']
    (camera,) = bringup.cameras(rig)
    assert (camera.name, camera.parameters) == (
        'camera_front',
        {'rig': 'bench.yaml', 'camera': 'front'},
    )


def test_a_cartesian_device_stands_in_for_a_leader_arm() -> None:
    text = DRIVEN.replace('leader: {mapping: {wrist: {source: wrist}}}', 'devices: {hand: {}}')
    rig = parse_rig(text, 'bench.yaml')
    assert executables(bringup.driving(rig)) == ['hand', 'follower', 'intervention']


def test_the_example_rig_starts_whole() -> None:
    rig = load_rig(data_file('config/rigs/so101_bench.yaml'))
    assert executables(bringup.driving(rig)) == ['leader', 'follower', 'intervention']
    assert rig.launch[0].arguments['serial_no'] == "'123456789012'"


def test_what_was_not_given_leaves_the_nodes_own_default() -> None:
    rig = parse_rig(DRIVEN, 'bench.yaml')
    recorder, _ = bringup.recording(rig, output='bags', task='stack', operator_id='')
    assert recorder.parameters == {'rig': 'bench.yaml', 'output': 'bags', 'task': 'stack'}

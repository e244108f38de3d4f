# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Rig and task files: what is read, and one clear error for each mistake."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from teleop_bridge.exceptions import RigError
from teleop_bridge.rig.loader import load_rig, parse_rig
from teleop_bridge.rig.schema import Clock, Role, Stamp
from teleop_bridge.rig.tasks import DEFAULT_REASONS, parse_tasks

RIG = """
rig: bench
robot_type: so101
joints:
  pan: {lower: -1.9, upper: 1.9, velocity: 4}
  grip: {lower: 0, upper: 1.7, kind: gripper}
leader:
  mapping:
    pan: {source: leader_pan, sign: -1, offset: 0.1}
    grip: {scale: 1.5}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state,
          rate_hz: 100, max_age_ms: 30}
  command: {topic: follower/command, type: sensor_msgs/msg/JointState, role: action,
            max_age_ms: 20.5}
  front: {topic: camera/front/image_raw, type: sensor_msgs/msg/Image, role: camera,
          max_age_ms: 100}
cameras:
  front: {image: front, width: 640, height: 480, frame_id: front, parent_frame: base,
          xyz: [0.1, 0, 0.5], rpy: [0, 1.57, 0], measured: by tape, source: sim}
follower: {rate_hz: 100, ramp_ms: 150}
launch:
  - {package: realsense2_camera, file: rs_launch.py, arguments: {serial_no: '123'}}
"""


def test_a_rig_is_read_whole() -> None:
    rig = parse_rig(RIG)
    assert rig.joint_names == ('pan', 'grip')
    assert rig.joints[1].velocity == math.inf
    assert rig.stream('command').max_age_ns == 20_500_000
    assert rig.stream('state').stamp is Stamp.HEADER
    assert rig.stream('state').clock is Clock.SESSION
    assert [stream.name for stream in rig.by_role(Role.CAMERA)] == ['front']
    assert rig.mapping[0].source == 'leader_pan' and rig.mapping[0].sign == -1
    assert rig.mapping[1].source == 'grip'
    assert rig.cameras[0].xyz == (0.1, 0.0, 0.5)
    assert rig.follower.ramp_ns == 150_000_000
    assert rig.launch[0].arguments == {'serial_no': '123'}
    assert rig.text == RIG


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('rig: bench', 'rigg: bench', 'rig: required key is missing'),
        ('robot_type: so101', 'robot: so101', 'robot: unknown key .known here: .*robot_type'),
        (
            'rate_hz: 100, ramp',
            'rate_hz: fast, ramp',
            'follower.rate_hz: expected a finite number',
        ),
        ('ramp_ms: 150', 'ramp_ms: 0', 'follower.ramp_ms: expected more than 0, found 0'),
        ('lower: -1.9', 'lower: 2.5', r'joints.pan.lower: expected less than upper \(1.9\)'),
        ('lower: -1.9', 'lower: .nan', 'joints.pan.lower: expected a finite number, found nan'),
        ('sign: -1', 'sign: 2', 'leader.mapping.pan.sign: expected 1 or -1, found 2'),
        ('    grip: {scale: 1.5}\n', '', "leader.mapping: joint 'grip' is not mapped"),
        ('    grip: {scale: 1.5}', '    fist: {scale: 1.5}', 'leader.mapping.fist: no such joint'),
        (
            'role: action',
            'role: acting',
            "streams.command.role: expected one of leader, .*'acting'",
        ),
        ('max_age_ms: 20.5', '', 'streams.command.max_age_ms: required for the role action'),
        ('msg/Image', 'Image', 'streams.front.type: expected a name such as'),
        (
            'image: front',
            'image: state',
            'cameras.front.image: expected a stream of the role camera',
        ),
        ('rpy: [0, 1.57, 0], ', '', 'cameras.front.rpy: xyz and rpy are given together'),
        ('rpy: [0, 1.57, 0]', 'rpy: [0, 1.57]', 'cameras.front.rpy: expected three numbers'),
        (
            'topic: follower/command',
            'topic: camera/front/image_raw',
            'streams.front.type: .* is sensor',
        ),
        ('  front: {topic', '  state: {topic', "line 16: key 'state' is given twice"),
        ('robot_type: so101', 'robot_type: [', 'line'),
    ],
)
def test_a_mistake_names_file_key_and_expectation(old: str, new: str, message: str) -> None:
    assert old in RIG
    text = RIG.replace(old, new, 1)
    with pytest.raises(RigError, match=f'bench.yaml:.*{message}'):
        parse_rig(text, 'bench.yaml')


def test_one_topic_is_not_declared_twice_in_one_role() -> None:
    text = RIG.replace('follower/command', 'joint_states').replace('role: action', 'role: state')
    with pytest.raises(RigError, match='streams.command.topic: is the topic of streams.state too'):
        parse_rig(text)


def test_streams_of_joints_need_joints() -> None:
    text = RIG[: RIG.index('joints:')] + RIG[RIG.index('streams:') :]
    with pytest.raises(RigError, match='joints: required, since streams.state carries joints'):
        parse_rig(text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RigError, match='none.yaml: cannot be read'):
        load_rig(tmp_path / 'none.yaml')


def test_tasks_are_read() -> None:
    tasks = parse_tasks(
        'tasks: {pick: {text: Pick it, time_limit_s: 20,'
        ' locations: {a1: {description: near left, xyz: [0.2, 0.1, 0], target: 5}}}}'
    )
    task = tasks.task('pick')
    assert task.reasons == DEFAULT_REASONS
    assert task.location('a1').target == 5
    with pytest.raises(RigError, match=r"no location 'b9' \(known: a1\)"):
        task.location('b9')
    with pytest.raises(RigError, match=r"no task 'place' \(known: pick\)"):
        tasks.task('place')

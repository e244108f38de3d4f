# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Small bags with streams of known times and values, and the rig that reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from recorder.bag.messages import image, joint_state
from recorder.bag.writer import open_bag
from support.bags import topic
from teleop_bridge.rig.loader import parse_rig
from teleop_bridge.rig.schema import Rig

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
JOINTS = ('shoulder', 'elbow', 'gripper')
CORPUS = Path(__file__).parents[2].parent / 'shared' / 'corpus'
STATE, ACTION, CAMERA = '/joint_states', '/follower/command', '/camera/front/image_raw'
TYPES = {
    STATE: 'sensor_msgs/msg/JointState',
    ACTION: 'sensor_msgs/msg/JointState',
    CAMERA: 'sensor_msgs/msg/Image',
}
RIG_TEXT = """
rig: test
robot_type: test_arm
joints:
  shoulder: {lower: -3.2, upper: 3.2, velocity: 8}
  elbow: {lower: -3.2, upper: 3.2, velocity: 8}
  gripper: {lower: 0, upper: 1.2, kind: gripper}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state,
          rate_hz: 100, max_age_ms: 50}
  action: {topic: follower/command, type: sensor_msgs/msg/JointState, role: action,
           rate_hz: 50, max_age_ms: 100}
  front: {topic: camera/front/image_raw, type: sensor_msgs/msg/Image, role: camera,
          rate_hz: 25, max_age_ms: 120}
cameras:
  front: {image: front, width: 8, height: 6}
"""
Messages = list[tuple[int, bytes]]  # (log time, bytes); published 1 ms before


def make_rig(*changes: tuple[str, str]) -> Rig:
    """Return the rig, with texts of its file replaced."""
    text = RIG_TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_rig(text)


def times(count: int, period_ms: float, start_ms: float = 0) -> list[int]:
    """Return capture times, ns."""
    return [START_NS + round((start_ms + i * period_ms) * MS) for i in range(count)]


def joints(
    stamps: Iterable[int], names: Sequence[str] = JOINTS, *, shift_ms: int = 0, late_ms: int = 2
) -> Messages:
    """Return JointStates whose first position is the true time in s, the second its negative.

    ``shift_ms`` is added to the stamps only: the clock of that stream is off by as much.
    """
    messages = []
    for stamp in stamps:
        seconds = (stamp - START_NS) / 1e9
        values = {'shoulder': seconds, 'elbow': -seconds, 'gripper': 0.5}
        data = joint_state(
            stamp + shift_ms * MS, list(names), [values.get(name, 9.0) for name in names]
        )
        messages.append((stamp + late_ms * MS, data))
    return messages


def images(stamps: Iterable[int]) -> Messages:
    """Return 8 x 6 images whose pixels are all 100 and the image's number."""
    shades = [np.full((6, 8, 3), 100 + i % 100, np.uint8) for i in range(100)]
    return [
        (stamp + 5 * MS, image(stamp, shades[i % 100], encoding='rgb8'))
        for i, stamp in enumerate(stamps)
    ]


def usual() -> dict[str, Messages]:
    """Return two seconds of the rig's streams."""
    return {
        STATE: joints(times(200, 10)),
        ACTION: joints(times(100, 20, 3)),
        CAMERA: images(times(50, 40, 1)),
    }


def write(
    path: Path,
    streams: dict[str, Messages],
    *,
    types: dict[str, str] | None = None,
    storage: str = 'mcap',
    **custom: str,
) -> Path:
    """Write a bag in log-time order."""
    writer = open_bag(
        path,
        custom_data={key: text for key, text in {'rig': RIG_TEXT, **custom}.items() if text},
        storage=storage,
    )
    types = {**TYPES, **(types or {})}
    for name in streams:
        writer.add_topic(topic(name, types[name]))
    order = sorted(
        (log, name, data) for name, messages in streams.items() for log, data in messages
    )
    for log, name, data in order:
        writer.write(name, data, log, log - MS)
    writer.close({})
    return path

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Bags for the export benchmark: two JPEG cameras at 30 Hz, joints at 100 Hz."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from recorder.bag.definitions import definition, type_hash, typestore
from recorder.bag.messages import joint_state
from recorder.bag.topic import TopicInfo
from recorder.bag.writer import open_bag as new_bag
from teleop_bridge.rig.schema import Storage

FPS, TICK_NS = 30, 10_000_000
START_NS = 1_700_000_000_000_000_000
JOINTS = tuple(f'joint_{i}' for i in range(6))
CAMERAS = ('left', 'right')
RIG = """
rig: bench
robot_type: so101
joints: {joint_0: {}, joint_1: {}, joint_2: {}, joint_3: {}, joint_4: {}, joint_5: {}}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}
  sent: {topic: command, type: sensor_msgs/msg/JointState, role: action, max_age_ms: 50}
  left: {topic: left/compressed, type: sensor_msgs/msg/CompressedImage, role: camera,
         max_age_ms: 90}
  right: {topic: right/compressed, type: sensor_msgs/msg/CompressedImage, role: camera,
          max_age_ms: 90}
cameras:
  left: {image: left, width: 640, height: 480}
  right: {image: right, width: 640, height: 480}
"""
_TYPES = {
    'joint_states': 'sensor_msgs/msg/JointState',
    'command': 'sensor_msgs/msg/JointState',
    'left/compressed': 'sensor_msgs/msg/CompressedImage',
    'right/compressed': 'sensor_msgs/msg/CompressedImage',
}


def write_bags(folder: Path, episodes: int, seconds: float) -> list[Path]:
    """Write the bags once and return them."""
    bags = [folder / f'episode_{number:02d}' for number in range(episodes)]
    for number, bag in enumerate(bags):
        if (bag / 'metadata.yaml').exists():
            continue
        writer = new_bag(bag, custom_data={'rig': RIG})
        for name, type_ in _TYPES.items():
            storage = Storage.CHUNK if 'Joint' in type_ else Storage.RAW
            writer.add_topic(TopicInfo(
                name, type_, definition(type_), type_hash=type_hash(type_), storage=storage))
        for stamp, topic, data in _messages(number, seconds):
            writer.write(topic, data, stamp + 1_000_000, stamp)
        writer.close({})
    return bags


def _messages(seed: int, seconds: float) -> Iterator[tuple[int, str, bytes]]:
    """Yield (stamp, topic, bytes) in time order: a textured scene with a moving arm."""
    rng = np.random.default_rng(seed)
    coarse = cv2.resize(
        rng.integers(0, 255, (15, 20, 3), np.uint8), (640, 480), interpolation=cv2.INTER_CUBIC)
    noise = rng.integers(0, 4, (8, 480, 640, 3), np.uint8)
    frame = 0
    for tick in range(int(seconds * 100)):
        stamp = START_NS + tick * TICK_NS
        wave = np.sin(0.03 * tick * (1 + np.arange(6) / 7))
        for k, topic in enumerate(('joint_states', 'command')):
            yield stamp, topic, joint_state(stamp, JOINTS, wave + k * 1e-3, wave, wave)
        while frame * 100 // FPS <= tick:
            for k, topic in enumerate(('left/compressed', 'right/compressed')):
                image = np.minimum(coarse, 250) + noise[(frame + k) % 8]
                centre = int(320 + 200 * wave[k]), int(240 + 150 * wave[k + 1])
                cv2.circle(image, centre, 40, (20, 40, 220), -1)
                cv2.rectangle(image, (centre[0], 0), (centre[0] + 12, centre[1]), (60, 60, 60), -1)
                yield stamp, topic, _compressed(
                    stamp, cv2.imencode('.jpg', image, [cv2.IMWRITE_JPEG_QUALITY, 92])[1])
            frame += 1


def _compressed(stamp: int, jpeg: Any) -> bytes:
    store = typestore()
    sec, nanosec = divmod(stamp, 10**9)
    header = store.types['std_msgs/msg/Header'](
        store.types['builtin_interfaces/msg/Time'](sec, nanosec), 'camera')
    type_ = 'sensor_msgs/msg/CompressedImage'
    message = store.types[type_](header, 'bgr8; jpeg compressed bgr8', jpeg.ravel())
    return bytes(store.serialize_cdr(message, type_))

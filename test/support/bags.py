# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Bags for tests, made of plain bytes and of real serialised messages."""

from __future__ import annotations

from pathlib import Path

from recorder.bag.definitions import definition, type_hash, typestore
from recorder.bag.topic import Qos, TopicInfo
from recorder.bag.writer import BagWriter, open_bag

START_NS = 1_700_000_000_000_000_000
STEP_NS = 10_000_000
JOINTS = ('shoulder', 'elbow')


def topic(name: str, type_: str, **options: object) -> TopicInfo:
    """Return a topic with its real definition and hash."""
    return TopicInfo(name, type_, definition(type_), type_hash=type_hash(type_), **options)


def joint_state(stamp_ns: int, positions: tuple[float, ...]) -> bytes:
    """Return a serialised JointState of JOINTS."""
    import numpy as np

    store = typestore()
    types = store.types
    sec, nanosec = divmod(stamp_ns, 1_000_000_000)
    header = types['std_msgs/msg/Header'](
        types['builtin_interfaces/msg/Time'](sec=sec, nanosec=nanosec), frame_id=''
    )
    empty = np.zeros(0)
    message = types['sensor_msgs/msg/JointState'](
        header=header,
        name=list(JOINTS),
        position=np.array(positions),
        velocity=empty,
        effort=empty,
    )
    return bytes(store.serialize_cdr(message, 'sensor_msgs/msg/JointState'))


def write_bag(
    path: Path,
    *,
    messages: int = 100,
    image_bytes: int = 20_000,
    storage: str = 'mcap',
    **facts: str,
) -> BagWriter:
    """Write a bag of joint states at 100 Hz and large strings at 25 Hz, and close it."""
    writer = open_bag(path, custom_data=facts, storage=storage)
    writer.add_topic(topic('/joint_states', 'sensor_msgs/msg/JointState'))
    writer.add_topic(topic('/image', 'std_msgs/msg/String', qos=(Qos('best_effort'),)))
    for i in range(messages):
        stamp = START_NS + i * STEP_NS
        writer.write(
            '/joint_states',
            joint_state(stamp, (0.01 * i, -0.01 * i)),
            stamp + 900_000,
            stamp + 400_000,
        )
        if i % 4 == 0:
            writer.write('/image', bytes([i % 256]) * image_bytes, stamp + 2_000_000, stamp)
    writer.close({'episode': '{"grade": "partial"}'})
    return writer

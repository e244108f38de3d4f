# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Messages serialised without a middleware say what the middleware's own would."""

from __future__ import annotations

import numpy as np
import pytest

from recorder.bag import messages
from recorder.bag.definitions import typestore
from recorder.bag.stamps import header_stamp_ns

STAMP = 1_700_000_000_123_456_789
PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
DEPTH = np.array([[1, 300], [65535, 0]], np.uint16)
SAMPLES = {
    messages.JOINT_STATE: messages.joint_state(STAMP, ['a', 'b'], [0.1, 0.2], efforts=[1.0, 2.0]),
    messages.IMAGE: messages.image(STAMP, PIXELS, encoding='rgb8', frame_id='front'),
    messages.CAMERA_INFO: messages.camera_info(
        STAMP, width=640, height=480, matrix=np.diag([500.0, 500.0, 1.0])
    ),
    messages.WRENCH: messages.wrench(STAMP, np.arange(6.0), frame_id='wrist'),
    messages.POSE: messages.pose(STAMP, [1, 2, 3], [1, 0, 0, 0], frame_id='base'),
    messages.AUTHORITY: messages.authority(STAMP, weight=0.5, phase=1, source='blend'),
    messages.INTERVENTION: messages.intervention(STAMP, pre_window_ns=1_500_000_000, id='i1'),
    messages.STATUS: messages.status(STAMP, state=2, task='pick', limit_s=3.5),
}


@pytest.mark.parametrize('type_', SAMPLES)
def test_middleware_reads_the_same_fields(type_: str) -> None:
    serialization = pytest.importorskip('rclpy.serialization', reason='rclpy is not installed')
    import importlib

    package, kind, name = type_.split('/')
    try:
        message_type = getattr(importlib.import_module(f'{package}.{kind}'), name)
    except ImportError:
        pytest.skip(f'{package} is not built')
    message = serialization.deserialize_message(SAMPLES[type_], message_type)
    again = serialization.serialize_message(message)
    again = again[: len(SAMPLES[type_])]  # beyond the end lies whatever lay there
    store = typestore()
    assert store.serialize_cdr(store.deserialize_cdr(again, type_), type_) == SAMPLES[type_]


@pytest.mark.parametrize('type_', SAMPLES)
def test_stamp_is_where_the_recorder_looks_for_it(type_: str) -> None:
    assert header_stamp_ns(SAMPLES[type_]) == STAMP


def test_values_come_back() -> None:
    def read(type_: str) -> object:
        return typestore().deserialize_cdr(SAMPLES[type_], type_)

    image = read(messages.IMAGE)
    assert (image.height, image.width, image.step) == (2, 4, 12)
    assert np.array_equal(image.data.reshape(2, 4, 3), PIXELS)
    depth = typestore().deserialize_cdr(
        messages.image(STAMP, DEPTH, encoding='16UC1'), messages.IMAGE
    )
    assert np.array_equal(depth.data.view(np.uint16).reshape(2, 2), DEPTH)
    assert list(read(messages.JOINT_STATE).position) == [0.1, 0.2]
    assert read(messages.WRENCH).wrench.torque.z == 5.0
    assert read(messages.POSE).pose.orientation.w == 1.0
    assert read(messages.INTERVENTION).pre_window.nanosec == 500_000_000
    assert (read(messages.STATUS).limit_s, read(messages.STATUS).done) == (3.5, 0)

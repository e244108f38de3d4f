# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The first frame of a location stays its reference, in later sessions too."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from recorder.exceptions import BagCorruptError
from recorder.reference import decode, overlay, ReferenceFrames

FIRST = np.full((4, 6, 3), 200, np.uint8)
LATER = np.full((4, 6, 3), 100, np.uint8)


def test_first_frame_is_kept_for_later_sessions(tmp_path: Path) -> None:
    frames = ReferenceFrames(tmp_path / 'references')
    assert frames.get('pick', 'far/left') is None
    assert frames.keep('pick', 'far/left', FIRST)
    assert not frames.keep('pick', 'far/left', LATER)
    again = ReferenceFrames(tmp_path / 'references')
    assert np.array_equal(again.get('pick', 'far/left'), FIRST)
    assert again.get('pick', 'near') is None and again.get('place', 'far/left') is None


def test_overlay_mixes_halves_and_leaves_other_sizes_alone() -> None:
    assert (overlay(LATER, FIRST) == 150).all()
    assert overlay(LATER, None) is LATER
    assert overlay(LATER, FIRST[:2]) is LATER


def test_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / 'pick_at_near.npy').write_bytes(b'nothing')
    with pytest.raises(BagCorruptError, match='pick_at_near.npy: expected a frame'):
        ReferenceFrames(tmp_path).get('pick', 'near')


RIG = """
rig: one_camera
joints: {a: {}}
streams:
  front: {topic: camera/front/image_raw, type: sensor_msgs/msg/Image, role: camera, rate_hz: 30,
          max_age_ms: 200}
cameras:
  front: {image: front, width: 6, height: 4}
"""


def test_node_keeps_a_frame_while_recording_and_overlays_it_at_the_reset(tmp_path: Path) -> None:
    rclpy = pytest.importorskip('rclpy', reason='rclpy (ROS 2) is not installed')
    pytest.importorskip('teleop_flywheel.msg', reason='our messages are not built')
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import Image
    from teleop_flywheel.msg import EpisodeStatus

    from support.live import new_domain, node, wait_until
    from teleop_bridge.nodes.convert import to_image
    from teleop_bridge.nodes.qos import LATCHED, SENSOR

    (tmp_path / 'rig.yaml').write_text(RIG)
    domain = new_domain()
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    rig = rclpy.create_node('one_camera', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(rig)
    images = rig.create_publisher(Image, 'camera/front/image_raw', 10)
    status = rig.create_publisher(EpisodeStatus, 'recorder/status', LATCHED)
    shown: list[int] = []
    rig.create_subscription(
        Image, 'recorder/reference', lambda message: shown.append(message.data[0]), SENSOR
    )
    stamp = iter(range(0, 10**12, 200_000_000))

    def publish(pixels: np.ndarray) -> None:
        images.publish(to_image(pixels, encoding='rgb8', frame_id='', stamp_ns=next(stamp)))
        executor.spin_once(timeout_sec=0.05)

    kept = tmp_path / 'frames/pick_at_near.npy'
    with node(
        'recorder.nodes.reference',
        domain,
        tmp_path / 'log',
        rig=tmp_path / 'rig.yaml',
        references=tmp_path / 'frames',
    ):
        practice = EpisodeStatus(state=2, task='pick', location='near', session_kind='dry_run')
        status.publish(practice)
        wait_until(lambda: 100 in shown, lambda: publish(LATER), 'the camera, in a dry run')
        assert not kept.exists()
        status.publish(EpisodeStatus(state=2, task='pick', location='near'))
        wait_until(kept.exists, lambda: publish(FIRST), 'the frame to be kept')
        status.publish(EpisodeStatus(state=3, task='pick', location='near'))
        wait_until(lambda: 150 in shown, lambda: publish(LATER), 'the overlay')
    rig.destroy_node()
    rclpy.shutdown(context=context)
    assert (np.load(kept) == FIRST).all()


def test_compressed_frames_are_decoded() -> None:
    ok, data = cv2.imencode('.png', FIRST)
    assert ok and np.array_equal(decode(data.tobytes()), FIRST)
    for bad in (b'', b'no image'):
        with pytest.raises(BagCorruptError, match='neither'):
            decode(bad)

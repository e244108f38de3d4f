# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""One contract for message_filters and our matcher, one for cv_bridge and our conversion."""

from __future__ import annotations

from collections.abc import Callable
import importlib.util
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')
import cv2
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import CompressedImage, Image

from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.matching import ApproximateMatcher, Matcher
from teleop_bridge.nodes.convert import to_image, to_stamp
from teleop_bridge.nodes.matching import FiltersMatcher, make_matcher
from teleop_bridge.nodes.pictures import CvBridgePictures, make_pictures, OpenCvPictures, Pictures

MS = 1_000_000
SLOP = 20 * MS
START = 1_700_000_000_000_000_000
MakeMatcher = Callable[..., Matcher]
Set = dict[str, int]


def installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


@pytest.fixture(
    params=[
        ApproximateMatcher,
        pytest.param(
            FiltersMatcher,
            marks=pytest.mark.skipif(
                not installed('message_filters'), reason='message_filters is not installed'
            ),
        ),
    ],
    ids=['ours', 'message_filters'],
)
def make(request: pytest.FixtureRequest) -> MakeMatcher:
    return request.param  # type: ignore[no-any-return]


def feed(matcher: Matcher, arrivals: list[tuple[int, str, int]]) -> list[tuple[int, Set]]:
    """Give messages in order of arrival; return each set as stamps, ms, and when it came."""
    sets = []
    for arrived, name, stamp in sorted(arrivals):
        message = WrenchStamped()
        message.header.stamp = to_stamp(START + stamp * MS)
        matched = matcher.add(name, message, START + stamp * MS)
        if matched is not None:
            assert matched[name] is message  # the set that this message completes
            stamps = {
                key: round((m.header.stamp.sec * 10**9 + m.header.stamp.nanosec - START) / MS)
                for key, m in matched.items()
            }
            sets.append((arrived, stamps))
    return sets


def test_every_frame_gets_the_sample_nearest_to_it_as_soon_as_both_are_there(
    make: MakeMatcher,
) -> None:
    frames = [(33 * i + 15, 'camera', 33 * i) for i in range(30)]  # each arrives 15 ms late
    samples = [(10 * i + 1, 'wrench', 10 * i) for i in range(100)]
    sets = feed(make(('camera', 'wrench'), slop_ns=SLOP), frames + samples)
    assert [stamps['camera'] for _, stamps in sets] == [stamp for _, _, stamp in frames]
    assert [arrived for arrived, _ in sets] == [arrived for arrived, _, _ in frames]
    assert max(abs(s['camera'] - s['wrench']) for _, s in sets) <= 5


def test_sets_of_three_are_within_the_slop_and_share_nothing(make: MakeMatcher) -> None:
    rng = np.random.default_rng(0)
    arrivals = [
        (33 * i + int(late), name, 33 * i + shift)
        for shift, name in ((0, 'front'), (8, 'wrist'), (3, 'side'))
        for i, late in enumerate(rng.uniform(10, 60, 40))
    ]
    sets = [stamps for _, stamps in feed(make(('front', 'wrist', 'side'), slop_ns=SLOP), arrivals)]
    assert len(sets) > 30
    assert max(max(s.values()) - min(s.values()) for s in sets) < 20
    for name in ('front', 'wrist', 'side'):
        used = [stamps[name] for stamps in sets]
        assert len(set(used)) == len(used)


def test_what_is_too_far_apart_or_silent_gives_nothing(make: MakeMatcher) -> None:
    apart = [(40 * i, 'a', 40 * i) for i in range(10)]
    apart += [(40 * i + 22, 'b', 40 * i + 21) for i in range(9)]
    assert feed(make(('a', 'b'), slop_ns=15 * MS), apart) == []
    assert feed(make(('a', 'b'), slop_ns=SLOP), [(i, 'a', i) for i in range(50)]) == []


def test_one_stream_needs_no_partner(make: MakeMatcher) -> None:
    sets = feed(make(('a',), slop_ns=SLOP), [(i, 'a', i) for i in range(5)])
    assert [stamps['a'] for _, stamps in sets] == [0, 1, 2, 3, 4]


def test_the_one_that_is_installed_is_used() -> None:
    expected = FiltersMatcher if installed('message_filters') else ApproximateMatcher
    assert isinstance(make_matcher((), slop_ns=SLOP), expected)
    pictures = CvBridgePictures if installed('cv_bridge') else OpenCvPictures
    assert isinstance(make_pictures(), pictures)


@pytest.fixture(
    params=[
        OpenCvPictures,
        pytest.param(
            CvBridgePictures,
            marks=pytest.mark.skipif(
                not installed('cv_bridge'), reason='cv_bridge is not installed'
            ),
        ),
    ],
    ids=['ours', 'cv_bridge'],
)
def pictures(request: pytest.FixtureRequest) -> Pictures:
    return request.param()  # type: ignore[no-any-return]


RGB = np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3)
GREY = np.repeat(RGB[:, :, :1], 3, axis=2)
ALPHA = np.full((6, 8, 1), 255, np.uint8)


@pytest.mark.parametrize(
    ('encoding', 'pixels', 'expected'),
    [
        ('rgb8', RGB, RGB),
        ('bgr8', RGB[:, :, ::-1], RGB),
        ('rgba8', np.concatenate([RGB, ALPHA], axis=2), RGB),
        ('bgra8', np.concatenate([RGB[:, :, ::-1], ALPHA], axis=2), RGB),
        ('mono8', GREY[:, :, 0], GREY),
    ],
)
def test_colours_come_out_in_rgb(
    pictures: Pictures, encoding: str, pixels: Any, expected: Any
) -> None:
    message = to_image(pixels, encoding=encoding, frame_id='', stamp_ns=0)
    assert np.array_equal(pictures.rgb(message), expected)


def test_rows_may_be_padded(pictures: Pictures) -> None:
    padded = np.zeros((6, 8 * 3 + 5), np.uint8)
    padded[:, : 8 * 3] = RGB.reshape(6, -1)
    message = Image(height=6, width=8, encoding='rgb8', step=padded.shape[1])
    message.data = padded.tobytes()
    assert np.array_equal(pictures.rgb(message), RGB)


def test_a_compressed_image_is_decoded_and_what_is_none_is_named(pictures: Pictures) -> None:
    _, png = cv2.imencode('.png', RGB[:, :, ::-1])
    assert np.array_equal(pictures.rgb(CompressedImage(format='png', data=png.tobytes())), RGB)
    with pytest.raises(FlywheelError, match="found 'jpeg' unreadable"):
        pictures.rgb(CompressedImage(format='jpeg', data=b'not a picture'))
    with pytest.raises(FlywheelError, match="found 'jpeg' unreadable"):
        pictures.rgb(CompressedImage(format='jpeg'))


@pytest.mark.parametrize(('step', 'length'), [(24, 6 * 24 - 1), (24, 0), (16, 6 * 16)])
def test_an_image_that_lacks_pixels_is_refused(pictures: Pictures, step: int, length: int) -> None:
    message = Image(height=6, width=8, encoding='rgb8', step=step, data=bytes(length))
    with pytest.raises(FlywheelError, match=f'6 rows of 24 .* found {length} .* rows of {step}'):
        pictures.rgb(message)


def test_an_encoding_that_is_no_colour_is_named(pictures: Pictures) -> None:
    message = to_image(RGB[:, :, 0], encoding='32FC7', frame_id='', stamp_ns=0)
    with pytest.raises(FlywheelError, match='32FC7'):
        pictures.rgb(message)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import av
import cv2
import numpy as np
from numpy.typing import NDArray
import pytest

from curation.bag.images import decode_color, decode_depth
from curation.bag.video import VideoStream
from curation.exceptions import DecodeError


def scene() -> NDArray[np.uint8]:
    """Return 24 x 32 smooth RGB: red grows to the right, green downwards, blue is low."""
    y, x = np.mgrid[0:24, 0:32]
    return np.stack([40 + 6 * x, 30 + 8 * y, np.full_like(x, 20)], axis=2).astype(np.uint8)


def message(
    pixels: NDArray[np.generic],
    encoding: str,
    *,
    pad: int = 0,
    big: bool = False,
    height: int | None = None,
) -> SimpleNamespace:
    rows = np.ascontiguousarray(pixels)
    if big:
        rows = rows.astype(rows.dtype.newbyteorder('>'))
    flat = np.frombuffer(rows.tobytes(), np.uint8).reshape(rows.shape[0], -1)
    padded = np.pad(flat, ((0, 0), (0, pad)), constant_values=77)
    return SimpleNamespace(
        height=height or rows.shape[0],
        width=rows.shape[1],
        encoding=encoding,
        is_bigendian=int(big),
        step=padded.shape[1],
        data=padded.ravel(),
    )


def bayer(pattern: str, rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    mosaic = np.zeros(rgb.shape[:2], np.uint8)
    for k, colour in enumerate(pattern):
        y, x = divmod(k, 2)
        mosaic[y::2, x::2] = rgb[y::2, x::2, 'rgb'.index(colour)]
    return mosaic


@pytest.mark.parametrize('pad', [0, 5])
@pytest.mark.parametrize(
    ('encoding', 'order'),
    [('rgb8', [0, 1, 2]), ('bgr8', [2, 1, 0]), ('rgba8', [0, 1, 2, 0]), ('bgra8', [2, 1, 0, 0])],
)
def test_packed_encodings_keep_colour_order_and_row_step(
    encoding: str, order: list[int], pad: int
) -> None:
    found = decode_color(message(scene()[..., order], encoding, pad=pad), 'test')
    np.testing.assert_array_equal(found, scene())


@pytest.mark.parametrize('big', [False, True])
def test_wide_samples_honour_endianness(big: bool) -> None:
    wide = scene().astype(np.uint16) * 256 + 3
    np.testing.assert_array_equal(decode_color(message(wide, 'rgb16', big=big), 't'), scene())
    np.testing.assert_array_equal(
        decode_color(message(wide[..., 0], 'mono16', big=big), 't')[..., 1], scene()[..., 0]
    )
    np.testing.assert_array_equal(
        decode_depth(message(wide[..., 0], '16UC1', big=big, pad=4), 't'), wide[..., 0]
    )
    metres = wide[..., 0].astype(np.float32) / 1000
    np.testing.assert_array_equal(decode_depth(message(metres, '32FC1', big=big), 't'), metres)


@pytest.mark.parametrize('pattern', ['rggb', 'bggr', 'gbrg', 'grbg'])
def test_bayer_patterns_are_ros_patterns(pattern: str) -> None:
    found = decode_color(message(bayer(pattern, scene()), f'bayer_{pattern}8'), 't')
    inner = (slice(4, -4), slice(4, -4))
    assert np.abs(found[inner].astype(int) - scene()[inner].astype(int)).max() <= 8


def yuv(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return studio-range BT.601 YUV, which is what cameras send."""
    r, g, b = (rgb[..., k].astype(float) for k in range(3))
    y = 16 + 0.257 * r + 0.504 * g + 0.098 * b
    u = 128 - 0.148 * r - 0.291 * g + 0.439 * b
    v = 128 + 0.439 * r - 0.368 * g - 0.071 * b
    return np.stack([y, u, v], axis=2).round().clip(0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    ('encoding', 'luma'), [('yuv422', 1), ('uyvy', 1), ('yuyv', 0), ('yuv422_yuy2', 0)]
)
def test_yuv_422(encoding: str, luma: int) -> None:
    planes = yuv(scene())
    packed = np.zeros((24, 32, 2), np.uint8)
    packed[..., luma] = planes[..., 0]
    packed[:, 0::2, 1 - luma] = planes[:, 0::2, 1]
    packed[:, 1::2, 1 - luma] = planes[:, 0::2, 2]
    found = decode_color(message(packed, encoding), 't')
    assert np.abs(found.astype(int) - scene().astype(int)).max() <= 8


def test_nv12() -> None:
    planes = yuv(scene())
    chroma = np.zeros((12, 32), np.uint8)
    chroma[:, 0::2], chroma[:, 1::2] = planes[::2, ::2, 1], planes[::2, ::2, 2]
    found = decode_color(message(np.vstack([planes[..., 0], chroma]), 'nv12', height=24), 't')
    assert np.abs(found.astype(int) - scene().astype(int)).max() <= 12


def compressed(data: bytes, form: str) -> SimpleNamespace:
    return SimpleNamespace(format=form, data=np.frombuffer(data, np.uint8))


@pytest.mark.parametrize(
    ('form', 'suffix', 'tolerance'),
    [
        ('jpeg', '.jpg', 12),
        ('png', '.png', 0),
        ('rgb8; jpeg compressed bgr8', '.jpg', 12),
        ('bgr8; png compressed bgr8', '.png', 0),
    ],
)
def test_compressed_colour(form: str, suffix: str, tolerance: int) -> None:
    data = cv2.imencode(suffix, scene()[..., ::-1])[1].tobytes()
    found = decode_color(compressed(data, form), 't')
    assert np.abs(found.astype(int) - scene().astype(int)).max() <= tolerance


def test_depth_in_png_and_compressed_depth() -> None:
    depth = scene()[..., 0].astype(np.uint16) * 20
    png = cv2.imencode('.png', depth)[1].tobytes()
    for form, head in (('16UC1; png compressed ', b''), ('16UC1; compressedDepth png', bytes(12))):
        np.testing.assert_array_equal(decode_depth(compressed(head + png, form), 't'), depth)
    a, b = np.float32(100.0), np.float32(2.0)
    metres = 0.5 + depth / 5000
    raw = np.round(a / metres + b).astype(np.uint16)
    raw[0, 0] = 0
    head = bytes(4) + a.tobytes() + b.tobytes()
    data = head + cv2.imencode('.png', raw)[1].tobytes()
    found = decode_depth(compressed(data, '32FC1; compressedDepth png'), 't')
    assert np.isnan(found[0, 0])
    np.testing.assert_allclose(found[1:], metres[1:], rtol=0.02)


@pytest.mark.parametrize(
    ('decode', 'bad', 'why'),
    [
        (
            decode_depth,
            compressed(cv2.imencode('.jpg', scene())[1].tobytes(), 'jpeg'),
            'JPEG is refused',
        ),
        (decode_color, message(scene(), '8UC3'), "found the encoding '8UC3'"),
        (decode_color, message(scene()[:10], 'rgb8', height=24), 'expected 24 rows'),
        (decode_color, compressed(b'hello', 'jpeg'), 'expected the format'),
        (
            decode_color,
            compressed(cv2.imencode('.png', scene())[1].tobytes(), 'jpeg'),
            'found png',
        ),
        (decode_depth, message(scene(), 'rgb8'), 'expected depth as 16UC1'),
    ],
)
def test_what_can_not_be_told_is_refused(decode: object, bad: object, why: str) -> None:
    with pytest.raises(DecodeError, match=why):
        decode(bad, 'stream')  # type: ignore[operator]


@pytest.mark.parametrize(('codec', 'form'), [('libx264', 'h264'), ('libx265', 'h265')])
def test_compressed_video_frames_in_any_order(codec: str, form: str) -> None:
    encoder = av.CodecContext.create(codec, 'w')
    encoder.width, encoder.height, encoder.pix_fmt = 64, 48, 'yuv420p'
    encoder.time_base = Fraction(1, 30)
    encoder.options = {'g': '8', 'bf': '0', 'tune': 'zerolatency', 'x265-params': 'log-level=none'}
    packets = []
    for i in range(20):
        frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 10 * i, np.uint8), format='rgb24')
        frame.pts = i
        packets += encoder.encode(frame)
    packets += encoder.encode(None)
    data = [bytes(packet) for packet in packets]
    assert len(data) == 20
    video = VideoStream(lambda i: (data[i], form), 'test')
    for i in (0, 1, 2, 15, 14, 3, 19, 19):
        assert abs(int(video.frame(i).mean()) - 10 * i) <= 4
    with pytest.raises(DecodeError, match='no key frame'):
        VideoStream(lambda i: (data[i + 1], form), 'test').frame(3)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Decode images by the encoding or format that their message declares, never by guess."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
import simplejpeg

from curation.exceptions import DecodeError

Pixels = NDArray[Any]
_JPEG, _PNG = b'\xff\xd8\xff', b'\x89PNG\r\n\x1a\n'
_DEPTH_HEADER_BYTES = 12  # of compressedDepth: format, then two float32 of the quantisation

# encoding: bytes per pixel and sample type, conversion to RGB (None: it is RGB)
_PACKED: dict[str, tuple[int, type, int | None]] = {
    'rgb8': (3, np.uint8, None),
    'bgr8': (3, np.uint8, cv2.COLOR_BGR2RGB),
    'rgba8': (4, np.uint8, cv2.COLOR_RGBA2RGB),
    'bgra8': (4, np.uint8, cv2.COLOR_BGRA2RGB),
    'rgb16': (3, np.uint16, None),
    'bgr16': (3, np.uint16, cv2.COLOR_BGR2RGB),
    'rgba16': (4, np.uint16, cv2.COLOR_RGBA2RGB),
    'bgra16': (4, np.uint16, cv2.COLOR_BGRA2RGB),
    'mono8': (1, np.uint8, cv2.COLOR_GRAY2RGB),
    '8UC1': (1, np.uint8, cv2.COLOR_GRAY2RGB),
    'mono16': (1, np.uint16, cv2.COLOR_GRAY2RGB),
    # OpenCV names Bayer patterns by the second row's second and third pixel, ROS by the first two
    'bayer_rggb8': (1, np.uint8, cv2.COLOR_BayerBG2RGB),
    'bayer_bggr8': (1, np.uint8, cv2.COLOR_BayerRG2RGB),
    'bayer_gbrg8': (1, np.uint8, cv2.COLOR_BayerGR2RGB),
    'bayer_grbg8': (1, np.uint8, cv2.COLOR_BayerGB2RGB),
    'bayer_rggb16': (1, np.uint16, cv2.COLOR_BayerBG2RGB),
    'bayer_bggr16': (1, np.uint16, cv2.COLOR_BayerRG2RGB),
    'bayer_gbrg16': (1, np.uint16, cv2.COLOR_BayerGR2RGB),
    'bayer_grbg16': (1, np.uint16, cv2.COLOR_BayerGB2RGB),
    'yuv422': (2, np.uint8, cv2.COLOR_YUV2RGB_UYVY),
    'uyvy': (2, np.uint8, cv2.COLOR_YUV2RGB_UYVY),
    'yuv422_yuy2': (2, np.uint8, cv2.COLOR_YUV2RGB_YUY2),
    'yuyv': (2, np.uint8, cv2.COLOR_YUV2RGB_YUY2),
}
_PLANAR = {'nv12': cv2.COLOR_YUV2RGB_NV12, 'nv21': cv2.COLOR_YUV2RGB_NV21}
_DEPTH: dict[str, type] = {'16UC1': np.uint16, 'mono16': np.uint16, '32FC1': np.float32}


def decode_color(message: Any, where: str) -> NDArray[np.uint8]:
    """Return an Image or CompressedImage as (height, width, 3) uint8, RGB.

    16-bit samples keep their upper 8 bits. Raises DecodeError, naming ``where``.
    """
    if not hasattr(message, 'encoding'):
        return _compressed_color(message, where)
    encoding = message.encoding
    if encoding in _PLANAR:
        rows = _rows(message, 1, np.uint8, where, height=message.height * 3 // 2)
        return np.asarray(cv2.cvtColor(rows[..., 0], _PLANAR[encoding]), np.uint8)
    if encoding not in _PACKED:
        raise DecodeError(
            f'{where}: expected a colour image ({", ".join([*_PACKED, *_PLANAR])}), '
            f"found the encoding '{encoding}'"
        )
    channels, kind, conversion = _PACKED[encoding]
    pixels = _rows(message, channels, kind, where)
    if conversion is not None:
        pixels = cv2.cvtColor(pixels, conversion)
    if kind is np.uint16:
        pixels = pixels >> 8
    return np.ascontiguousarray(pixels, np.uint8)


def decode_depth(message: Any, where: str) -> Pixels:
    """Return a depth image (height, width): uint16 in mm, or float32 in m, NaN where unknown.

    JPEG is refused, since it invents depths. Raises DecodeError, naming ``where``.
    """
    if not hasattr(message, 'encoding'):
        return _compressed_depth(message, where)
    if message.encoding not in _DEPTH:
        raise DecodeError(
            f"{where}: expected depth as 16UC1 (mm) or 32FC1 (m), found '{message.encoding}'"
        )
    return np.ascontiguousarray(_rows(message, 1, _DEPTH[message.encoding], where)[..., 0])


def _rows(
    message: Any, channels: int, kind: type, where: str, height: int | None = None
) -> Pixels:
    """Return the pixels (height, width, channels) without the padding of rows, native endian."""
    height = message.height if height is None else height
    item = np.dtype(kind)
    used = message.width * channels * item.itemsize
    step = message.step or used
    if not height or not message.width or step < used or len(message.data) < step * height:
        raise DecodeError(
            f'{where}: expected {height} rows of at least {used} bytes ({message.width} pixels of '
            f'{message.encoding}), found {len(message.data)} bytes in rows of {message.step}'
        )
    rows = np.asarray(message.data)[: step * height].reshape(height, step)[:, :used]
    stored = item.newbyteorder('>' if message.is_bigendian else '<')
    pixels = np.ascontiguousarray(rows).view(stored)
    return np.asarray(pixels, kind).reshape(height, message.width, channels)


def _compressed_color(message: Any, where: str) -> NDArray[np.uint8]:
    data, form = _data(message), message.format.lower()
    if 'compresseddepth' in form:
        raise DecodeError(f"{where}: expected a colour image, found '{message.format}'")
    # compressed_image_transport names the order of what it gave to its encoder
    in_order = 'compressed rgb' in form
    if data.startswith(_JPEG) and 'png' not in form:
        try:
            return np.asarray(simplejpeg.decode_jpeg(data, 'BGR' if in_order else 'RGB'))
        except ValueError:
            pass  # OpenCV reads what is rare or slightly damaged, or says what is wrong
    pixels = _imdecode(data, cv2.IMREAD_UNCHANGED, form, where)
    if pixels.dtype == np.uint16:
        pixels = (pixels >> 8).astype(np.uint8)
    if pixels.ndim == 2:
        return np.asarray(cv2.cvtColor(pixels, cv2.COLOR_GRAY2RGB), np.uint8)
    pixels = np.ascontiguousarray(pixels[..., :3], np.uint8)
    return pixels if in_order else np.asarray(cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB), np.uint8)


def _compressed_depth(message: Any, where: str) -> Pixels:
    data, form = _data(message), message.format.lower()
    if 'jpeg' in form or 'jpg' in form or data[:3] == _JPEG:
        raise DecodeError(
            f"{where}: depth in JPEG is refused, since JPEG alters depths ('{message.format}')"
        )
    quantised = 'compresseddepth' in form
    if quantised:
        if 'rvl' in form:
            raise DecodeError(
                f"{where}: expected compressedDepth as PNG, found '{message.format}'"
            )
        header, data = data[:_DEPTH_HEADER_BYTES], data[_DEPTH_HEADER_BYTES:]
        if len(header) < _DEPTH_HEADER_BYTES:
            raise DecodeError(f'{where}: a compressedDepth image of {len(header)} bytes')
    pixels = _imdecode(data, cv2.IMREAD_UNCHANGED, 'png', where)
    if pixels.dtype != np.uint16 or pixels.ndim != 2:
        raise DecodeError(
            f'{where}: expected depth of 16 bits, found {pixels.dtype} {pixels.shape}'
        )
    if not quantised or not form.startswith('32fc1'):
        return np.asarray(pixels, np.uint16)
    a, b = np.frombuffer(header, '<f4', 2, 4)
    with np.errstate(divide='ignore', invalid='ignore'):
        depth = a / (pixels.astype(np.float32) - b)
    return np.asarray(np.where(pixels == 0, np.nan, depth), np.float32)


def _imdecode(data: bytes, flags: int, form: str, where: str) -> Pixels:
    found = 'jpeg' if data.startswith(_JPEG) else 'png' if data.startswith(_PNG) else ''
    if not found or (found == 'png') != ('png' in form):
        what = found or f'bytes that begin {data[:4]!r}'
        raise DecodeError(f"{where}: expected the format '{form}', found {what}")
    try:
        pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    except cv2.error as error:
        raise DecodeError(f'{where}: a {found} image is broken ({error.err})') from error
    if pixels is None:
        raise DecodeError(f'{where}: a {found} image is broken')
    return np.asarray(pixels)


def _data(message: Any) -> bytes:
    return np.asarray(message.data, np.uint8).tobytes()

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Images as RGB arrays: by cv_bridge where it is installed, by OpenCV alone elsewhere."""

from __future__ import annotations

import array
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CompressedImage, Image

from teleop_bridge.exceptions import FlywheelError

_TO_RGB = {
    # encoding: (channels, OpenCV's conversion)
    'rgb8': (3, None),
    'bgr8': (3, cv2.COLOR_BGR2RGB),
    'rgba8': (4, cv2.COLOR_RGBA2RGB),
    'bgra8': (4, cv2.COLOR_BGRA2RGB),
    'mono8': (1, cv2.COLOR_GRAY2RGB),
}


class Pictures(Protocol):
    """Converts images."""

    def rgb(self, message: Image | CompressedImage) -> NDArray[np.uint8]:
        """Return (height, width, 3) RGB; raises FlywheelError saying what can't be read."""


class OpenCvPictures:
    """The Pictures of machines without cv_bridge."""

    def rgb(self, message: Image | CompressedImage) -> NDArray[np.uint8]:
        """Return (height, width, 3) RGB; raises FlywheelError saying what can't be read."""
        if isinstance(message, CompressedImage):
            return decode(message)
        if message.encoding not in _TO_RGB:
            expected = ', '.join(_TO_RGB)
            raise FlywheelError(
                f"expected an image encoded as one of {expected}, found '{message.encoding}'"
            )
        channels, conversion = _TO_RGB[message.encoding]
        pixels = _rows(message, channels).reshape(message.height, message.width, channels)
        return pixels if conversion is None else cv2.cvtColor(pixels, conversion)


class CvBridgePictures:
    """The Pictures over cv_bridge."""

    def __init__(self) -> None:
        from cv_bridge import CvBridge, CvBridgeError

        self._bridge, self._error = CvBridge(), CvBridgeError

    def rgb(self, message: Image | CompressedImage) -> NDArray[np.uint8]:
        """Return (height, width, 3) RGB; raises FlywheelError saying what can't be read."""
        if isinstance(message, CompressedImage):
            return decode(message)
        try:
            return np.asarray(self._bridge.imgmsg_to_cv2(self._checked(message), 'rgb8'))
        except self._error as error:
            raise FlywheelError(
                f"image encoded as '{message.encoding}': not readable as rgb8 ({error})"
            ) from error

    def _checked(self, message: Image) -> Image:
        """Return the image in rows that cv_bridge can read.

        It takes a row to be a whole number of pixels: any other padding would shear the picture.
        """
        dtype, channels = self._bridge.encoding_to_dtype_with_channels(message.encoding)
        pixel_bytes = np.dtype(dtype).itemsize * channels
        rows = _rows(message, pixel_bytes)
        if message.step % pixel_bytes == 0:
            return message
        return Image(
            height=message.height,
            width=message.width,
            encoding=message.encoding,
            is_bigendian=message.is_bigendian,
            step=rows.shape[1],
            data=array.array('B', rows.tobytes()),
        )


def _rows(message: Image, pixel_bytes: int) -> NDArray[np.uint8]:
    """Return the rows without their padding, (height, width * pixel_bytes); FlywheelError."""
    length = message.width * pixel_bytes
    if message.step < length or len(message.data) != message.height * message.step:
        raise FlywheelError(
            f'expected {message.height} rows of {length} bytes or more '
            f"({message.width} pixels of '{message.encoding}'), "
            f'found {len(message.data)} bytes in rows of {message.step}'
        )
    rows = np.frombuffer(message.data, np.uint8).reshape(message.height, message.step)
    return rows[:, :length]


def decode(message: CompressedImage) -> NDArray[np.uint8]:
    """Decode a JPEG or PNG; raises FlywheelError where it is none."""
    data = np.frombuffer(message.data, np.uint8)
    pixels = cv2.imdecode(data, cv2.IMREAD_COLOR) if data.size else None
    if pixels is None:
        raise FlywheelError(f"expected a JPEG or PNG image, found '{message.format}' unreadable")
    return cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)


def make_pictures() -> Pictures:
    """Return cv_bridge's conversion, ours where that package is not installed."""
    try:
        made: Any = CvBridgePictures()
    except ImportError:
        made = OpenCvPictures()
    return made

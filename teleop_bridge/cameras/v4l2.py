# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A V4L2 camera through linuxpy, stamped by the kernel."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.cameras.profile import Profile, require_profile
from teleop_bridge.cameras.source import CameraFrame
from teleop_bridge.exceptions import DeviceError, MissingDependencyError

_TIMEOUT_S = 1.0
_BUFFERS = 4
_MONOTONIC_FLAG = 0x2000  # V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC
_CLOCK_FLAGS = 0xE000     # V4L2_BUF_FLAG_TIMESTAMP_MASK


class V4l2Camera:
    """One camera by its path, best under /dev/v4l/by-id.

    MJPG passes through as the camera sent it; RGB3 comes as pixels.
    """

    def __init__(self, *, device: str, profile: Profile) -> None:
        self._path = device
        self._profile = profile
        self._device: Any = None
        self._capture: Any = None
        self._reader: Any = None
        self.profiles: tuple[Profile, ...] = ()

    def open(self) -> None:
        """Open the camera in its profile; raises DeviceError naming the profiles that exist."""
        try:
            video = importlib.import_module('linuxpy.video.device')
        except ImportError as error:
            raise MissingDependencyError(
                'V4L2 cameras need linuxpy: pip install linuxpy'
            ) from error
        wanted = self._profile
        try:
            device = video.Device(os.path.realpath(self._path), blocking=False)
            device.open()
            self._device = device
            self.profiles = tuple(_profiles(device))
            require_profile(wanted, self.profiles, self._path)
            self._capture = video.VideoCapture(device, size=_BUFFERS)
            self._capture.set_format(wanted.width, wanted.height, wanted.pixel_format)
            self._capture.set_fps(wanted.rate_hz)
            self._capture.open()
            self._reader = iter(self._capture)
        except OSError as error:
            self.close()
            raise DeviceError(f'{self._path}: cannot be opened ({error})') from error
        except DeviceError:
            self.close()
            raise

    def read(self) -> CameraFrame | None:
        """Wait for the next frame, stamped when the kernel says that it was taken."""
        try:
            ready, _, _ = self._device.io.select.select((self._device,), (), (), _TIMEOUT_S)
            if not ready:
                return None
            frame = next(self._reader)
        except OSError as error:
            raise DeviceError(f'{self._path}: {error}') from error
        stamp = frame.buff.timestamp
        if frame.buff.flags & _CLOCK_FLAGS != _MONOTONIC_FLAG:
            raise DeviceError(f'{self._path}: its driver does not stamp on the monotonic clock')
        monotonic_ns = stamp.secs * 1_000_000_000 + stamp.usecs * 1_000  # never a float second
        if self._profile.pixel_format in ('MJPG', 'JPEG'):
            return CameraFrame(monotonic_ns, frame.frame_nb, jpeg=bytes(frame.data))
        return CameraFrame(monotonic_ns, frame.frame_nb, pixels=self._pixels(frame.data))

    def close(self) -> None:
        """Stop and close the camera."""
        for part in (self._capture, self._device):
            if part is not None:
                try:
                    part.close()
                except OSError:
                    pass  # it was unplugged
        self._capture = self._device = self._reader = None

    def _pixels(self, data: bytes) -> NDArray[np.uint8]:
        height, width = self._profile.height, self._profile.width
        if self._profile.pixel_format != 'RGB3':
            raise DeviceError(
                f'{self._path}: expected MJPG or RGB3, found {self._profile.pixel_format}'
            )
        return np.frombuffer(data, np.uint8).reshape(height, width, 3)


def _profiles(device: Any) -> list[Profile]:
    return [
        Profile(frame.width, frame.height, float(frame.max_fps), _four(frame.pixel_format))
        for frame in device.info.frame_types
    ]


def _four(pixel_format: int) -> str:
    """Return a format's four characters, as drivers name it: linuxpy's own names differ."""
    return int(pixel_format).to_bytes(4, 'little').decode('ascii', 'replace').rstrip()

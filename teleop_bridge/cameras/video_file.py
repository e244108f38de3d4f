# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A video file as a camera, played at its own rate."""

from __future__ import annotations

from fractions import Fraction
import importlib
from pathlib import Path
import time
from typing import Any

from teleop_bridge.cameras.source import CameraFrame
from teleop_bridge.exceptions import DeviceError, MissingDependencyError


class VideoFile:
    """Plays a file in real time, over and over where ``loop``."""

    def __init__(self, path: Path, *, loop: bool = True) -> None:
        self._path = path
        self._loop = loop
        self._container: Any = None
        self._frames: Any = None
        self._start_ns = 0
        self._sequence = 0

    def open(self) -> None:
        """Open the file; raises DeviceError where it is absent or no video."""
        try:
            av = importlib.import_module('av')
        except ImportError as error:
            raise MissingDependencyError('video files need PyAV: pip install av') from error
        try:
            self._container = av.open(str(self._path))
            self._stream = self._container.streams.video[0]
        except (OSError, IndexError, av.FFmpegError) as error:
            raise DeviceError(f'{self._path}: expected a video file ({error})') from error
        self._rewind()

    def read(self) -> CameraFrame | None:
        """Wait until the next frame is due; None at the end."""
        frame = next(self._frames, None)
        if frame is None and self._loop:
            self._container.seek(0, stream=self._stream)
            self._rewind()
            frame = next(self._frames, None)
        if frame is None:
            return None
        shown = Fraction(frame.pts or 0) * Fraction(self._stream.time_base)
        due_ns = self._start_ns + int(shown * 1_000_000_000)
        wait_ns = due_ns - time.monotonic_ns()
        if wait_ns > 0:
            time.sleep(wait_ns / 1e9)
        self._sequence += 1
        return CameraFrame(due_ns, self._sequence, pixels=frame.to_ndarray(format='rgb24'))

    def close(self) -> None:
        """Close the file."""
        if self._container is not None:
            self._container.close()
            self._container = None

    def _rewind(self) -> None:
        self._frames = self._container.decode(self._stream)
        self._start_ns = time.monotonic_ns()

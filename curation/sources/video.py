# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Frames of a part of a video file, one after the other or at random."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from curation.exceptions import DecodeError


class VideoFile:
    """Decodes frames by index, counted from ``start_s`` at a fixed rate; files open when used."""

    def __init__(self, path: Path, start_s: float, fps: float, count: int) -> None:
        self._path = path
        self._start_s = start_s
        self._fps = fps
        self._count = count
        self._container: Any = None
        self._frames: Any = None
        self._next = -1

    def __len__(self) -> int:
        return self._count

    def __call__(self, index: int) -> NDArray[np.uint8]:
        """Return frame ``index``, (height, width, 3) uint8 RGB; DecodeError where it can't be."""
        wanted = self._start_s + index / self._fps
        try:
            if self._frames is None or index < self._next:
                self._seek(wanted)
            for frame in self._frames:
                if frame.time is not None and frame.time >= wanted - 0.5 / self._fps:
                    self._next = index + 1
                    return np.asarray(frame.to_ndarray(format='rgb24'), np.uint8)
        except (av.FFmpegError, OSError, IndexError) as error:
            self._frames = None
            raise DecodeError(f"{self._path}: frame {index} can't be decoded ({error})") from error
        self._frames = None
        raise DecodeError(f'{self._path}: ends before frame {index}')

    def _seek(self, seconds: float) -> None:
        if self._container is None:
            self._container = av.open(str(self._path))
            self._container.streams.video[0].thread_type = 'AUTO'
        stream = self._container.streams.video[0]
        self._container.seek(
            max(int((seconds - 0.5 / self._fps) / stream.time_base), 0), stream=stream
        )
        self._frames = self._container.decode(stream)

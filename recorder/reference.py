# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Reference frames: how a scene looked when its location was first used, to reset by eye."""

from __future__ import annotations

from pathlib import Path
import re

import cv2
import numpy as np
from numpy.typing import NDArray

from recorder.bag.files import write_error
from recorder.exceptions import BagCorruptError

Pixels = NDArray[np.uint8]


class ReferenceFrames:
    """Keeps one frame (height, width, 3) uint8 per task and location, as a file each."""

    def __init__(self, folder: Path) -> None:
        """Keep them in ``folder``, which is made when the first one is kept."""
        self._folder = folder
        self._held: dict[tuple[str, str], Pixels | None] = {}

    def get(self, task: str, location: str) -> Pixels | None:
        """Return the frame of a location, None before there is one; BagCorruptError."""
        key = (task, location)
        if key not in self._held:
            path = self._path(*key)
            try:
                self._held[key] = np.load(path) if path.exists() else None
            except (OSError, ValueError) as error:
                raise BagCorruptError(f'{path}: expected a frame, found {error}') from error
        return self._held[key]

    def keep(self, task: str, location: str, frame: Pixels) -> bool:
        """Keep a frame unless the location has one; return whether it was kept; BagWriteError."""
        if self.get(task, location) is not None:
            return False
        path = self._path(task, location)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, frame)
        except OSError as error:
            raise write_error(path, error) from error
        self._held[task, location] = frame.copy()
        return True

    def _path(self, task: str, location: str) -> Path:
        names = (re.sub(r'[^A-Za-z0-9_.-]', '_', name) for name in (task, location))
        return self._folder / ('_at_'.join(names) + '.npy')


def decode(data: bytes) -> Pixels:
    """Return the pixels, BGR, of a JPEG or PNG; BagCorruptError for what is neither."""
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if pixels is None:
        raise BagCorruptError(f'a JPEG or PNG, found {len(data)} bytes that are neither')
    return pixels.astype(np.uint8, copy=False)


def overlay(live: Pixels, reference: Pixels | None) -> Pixels:
    """Return the live frame with half of the reference over it; as it is where sizes differ."""
    if reference is None or reference.shape != live.shape:
        return live
    return (live // 2 + reference // 2).astype(np.uint8)

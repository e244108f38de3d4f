# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Key frames of an episode, small enough to sit inside a page."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import cv2
import numpy as np
import simplejpeg

from curation.align.episode import Episode
from curation.exceptions import CurationError
from teleop_bridge.clock import NANOSECONDS

COUNT = 8
WIDTH = 240
QUALITY = 80


@dataclass(frozen=True)
class KeyFrame:
    """One image as a data URI, or why there is none."""

    time_s: float
    uri: str
    problem: str = ''


def key_frames(episode: Episode, camera: str) -> list[KeyFrame]:
    """Return evenly spaced frames of one camera; a broken one says so and stops nothing."""
    indices = np.unique(np.linspace(0, len(episode) - 1, COUNT).round().astype(int))
    return [_key_frame(episode, camera, int(index)) for index in indices]


def _key_frame(episode: Episode, camera: str, index: int) -> KeyFrame:
    time_s = float(episode.grid_ns[index] - episode.grid_ns[0]) / NANOSECONDS
    try:
        image = episode.frame(camera, index)
    except CurationError as error:
        return KeyFrame(time_s, '', str(error))
    height = round(image.shape[0] * WIDTH / image.shape[1])
    small = cv2.resize(image, (WIDTH, height), interpolation=cv2.INTER_AREA)
    jpeg = simplejpeg.encode_jpeg(np.ascontiguousarray(small), quality=QUALITY)
    return KeyFrame(time_s, 'data:image/jpeg;base64,' + base64.b64encode(jpeg).decode('ascii'))

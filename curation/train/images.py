# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""One camera's frames at low resolution, pooled as the checkpoint pools them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.exceptions import StreamError


@dataclass(frozen=True)
class Images:
    """A camera's frames: ``pixels`` (N, 3, h, w) uint8, each the mean of ``pool`` x ``pool``."""

    stream: str
    pixels: NDArray[np.uint8]
    pool: int

    @property
    def full_size(self) -> tuple[int, int]:
        """Height and width of the frames that the camera delivers."""
        return self.pixels.shape[2] * self.pool, self.pixels.shape[3] * self.pool


def images_of(episode: Episode, camera: str, rows: NDArray[np.int64], *, width: int) -> Images:
    """Return an episode's frames at grid indices, about ``width`` pixels wide.

    Raises StreamError where there is no such camera, or its frames have no whole multiple of a
    smaller size.
    """
    stream = episode.rig_camera(camera).image
    frames = []
    pool = 1
    for row in rows:
        frame = episode.frame(camera, int(row))
        pool = max(1, frame.shape[1] // width)
        if frame.shape[0] % pool or frame.shape[1] % pool:
            raise StreamError(
                f"{episode.name}: camera '{camera}': frames of {frame.shape[1]}x{frame.shape[0]}"
                f' do not divide into {pool}x{pool}; choose another width'
            )
        frames.append(pooled(frame, pool))
    return Images(stream, np.array(frames), pool)


def pooled(frame: NDArray[np.uint8], pool: int) -> NDArray[np.uint8]:
    """Return a frame (H, W, 3) as (3, H / pool, W / pool), rounded means of its blocks."""
    height, width = frame.shape[0] // pool, frame.shape[1] // pool
    blocks = frame.reshape(height, pool, width, pool, 3).mean(axis=(1, 3))
    channels_first: NDArray[np.uint8] = np.rint(blocks).astype(np.uint8).transpose(2, 0, 1)
    return channels_first

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Images at training resolution: cropped as declared, resized by area, never distorted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.exceptions import ExportError

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Shape:
    """What becomes of an image: ``crop`` is (left, top, width, height) in its own pixels.

    Without ``width`` and ``height`` the crop keeps its size. Resizing averages over areas, and
    whole images are what is left without a crop.
    """

    width: int = 0
    height: int = 0
    crop: tuple[int, int, int, int] | None = None

    def apply(self, image: NDArray[Any], where: str, *, depth: bool = False) -> NDArray[Any]:
        """Return the image (h, w, …) as declared; ExportError where that would distort it.

        Depth takes the nearest pixel: an average over an edge is a place where nothing is.
        """
        height, width = image.shape[:2]
        if self.crop is not None:
            left, top, width, height = self.crop
            if left < 0 or top < 0 or (top + height, left + width) > image.shape[:2]:
                raise ExportError(
                    f'{where}: a crop of {width}×{height} at ({left}, {top}) leaves the image, '
                    f'which is {image.shape[1]}×{image.shape[0]}'
                )
            image = image[top:top + height, left:left + width]
        if not self.width or (self.width, self.height) == (width, height):
            return np.ascontiguousarray(image)
        if self.width not in _fitting(width, height, self.height):
            raise ExportError(
                f'{where}: {self.width}×{self.height} would distort an image of '
                f'{width}×{height}; declare a crop of the same proportions'
            )
        how = cv2.INTER_NEAREST if depth else cv2.INTER_AREA
        return np.asarray(cv2.resize(image, (self.width, self.height), interpolation=how))


def _fitting(width: int, height: int, wanted: int) -> range:
    """Return the widths that keep the proportions at a wanted height, to a pixel's rounding."""
    exact = width * wanted / height
    return range(int(np.floor(exact - 0.5)) + 1, int(np.floor(exact + 0.5)) + 1)


def shaped_frames(episode: Episode, camera: str, shape: Shape) -> Iterator[tuple[int, Pixels]]:
    """Yield (message index, image) at each grid time.

    A message that several grid times use is decoded and resized once, and gives the same array.
    """
    indices = episode.tracks[episode.rig_camera(camera).image].indices
    last, image = -1, np.empty((0, 0, 3), np.uint8)
    for i, index in enumerate(indices):
        if i == 0 or int(index) != last:
            raw = np.asarray(episode.frame(camera, i), np.uint8)
            image, last = shape.apply(raw, f'{episode.name}: camera {camera}'), int(index)
        yield last, image


def require_whole(episode: Episode) -> None:
    """Raise ExportError where samples are masked: these formats can't say so."""
    masked = int((~episode.valid).sum())
    if masked or not len(episode):
        raise ExportError(
            f'{episode.name}: {masked} of {len(episode)} samples are masked; align with '
            "on_gap 'split', which leaves them out"
        )

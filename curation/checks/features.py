# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Small features of images: enough to see frozen, dark, blurred, moved or recoloured cameras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import zlib

import cv2
import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Image, Times
from curation.exceptions import DecodeError

WIDTH = 160  # of thumbnails, pixels
_KEPT = 40  # thumbnails of an episode that tell what stood still
_EVERY = 5  # frames between two of which the sharpness is measured
_DARK, _BRIGHT = 16, 250


@dataclass(frozen=True)
class Features:
    """Of n images, arrays (n,), and a few thumbnails (about 40, h, 160, 3) uint8 RGB.

    ``change`` is the mean absolute grey difference to the image before (0 for the first),
    ``digest`` tells bit-identical images, ``sharpness`` the variance of the Laplacian (NaN where
    not measured), ``scale`` full-size pixels per thumbnail pixel. Broken images are black.
    """

    stamps_ns: Times
    thumbs: NDArray[np.uint8]
    change: NDArray[np.float64]
    digest: NDArray[np.uint32]
    dark: NDArray[np.float64]
    bright: NDArray[np.float64]
    sharpness: NDArray[np.float64]
    broken: tuple[int, ...]
    scale: float

    def __len__(self) -> int:
        return len(self.stamps_ns)


def image_features(source: Callable[[int], Image], stamps_ns: Times) -> Features:
    """Decode every image of a stream once and keep what the checks need: few of the pixels."""
    count, scale = len(stamps_ns), 1.0
    thumbs: list[NDArray[np.uint8]] = []
    digest, change = np.zeros(count, np.uint32), np.zeros(count)
    dark, bright = np.ones(count), np.zeros(count)
    sharpness = np.full(count, np.nan)
    broken, every = [], max(count // _KEPT, 1)
    before: NDArray[np.uint8] | None = None
    for i in range(count):
        try:
            pixels = source(i)
        except DecodeError:
            broken.append(i)
            if before is not None:
                change[i], before = float(before.mean()), np.zeros_like(before)
            continue
        if before is None:
            scale = pixels.shape[1] / WIDTH
        size = (WIDTH, max(round(pixels.shape[0] / scale), 1))
        small = np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), np.uint8)
        grey = np.asarray(cv2.transform(small, _MEAN), np.uint8).reshape(small.shape[:2])
        if before is not None and before.shape == grey.shape:
            change[i] = cv2.norm(grey, before, cv2.NORM_L1) / grey.size
        before = grey
        if i % every == 0:
            thumbs.append(small)
        digest[i] = zlib.crc32(np.ascontiguousarray(pixels).data)
        dark[i] = 1 - cv2.countNonZero(cv2.inRange(grey, _DARK, 255)) / grey.size
        bright[i] = cv2.countNonZero(cv2.inRange(grey, _BRIGHT + 1, 255)) / grey.size
        if i % _EVERY == 0:
            full = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
            sharpness[i] = cv2.Laplacian(full, cv2.CV_32F).var()
    kept = np.stack([t for t in thumbs if t.shape == thumbs[0].shape]) if thumbs else _NONE
    return Features(
        stamps_ns, kept, change, digest, dark, bright, sharpness, tuple(broken), scale
    )


_MEAN = np.full((1, 3), 1 / 3, np.float32)
_NONE = np.zeros((0, WIDTH * 3 // 4, WIDTH, 3), np.uint8)

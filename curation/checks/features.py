# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Small features of images: enough to see frozen, dark, blurred, moved or recoloured cameras."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
import zlib

import cv2
import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Image, Times
from curation.exceptions import DecodeError

WIDTH = 160  # of thumbnails, pixels
_EVERY = 5  # frames between two of which the sharpness is measured
_DARK, _BRIGHT = 16, 250


@dataclass(frozen=True)
class Features:
    """Of n images: ``thumbs`` (n, h, 160, 3) uint8 RGB, the rest (n,). Broken images are black.

    ``change`` is the mean absolute grey difference to the image before (0 for the first),
    ``digest`` tells bit-identical images, ``sharpness`` the variance of the Laplacian (NaN where
    not measured), ``scale`` full-size pixels per thumbnail pixel.
    """

    stamps_ns: Times
    thumbs: NDArray[np.uint8]
    digest: NDArray[np.uint32]
    mean: NDArray[np.float64]
    dark: NDArray[np.float64]
    bright: NDArray[np.float64]
    sharpness: NDArray[np.float64]
    broken: tuple[int, ...]
    scale: float

    def __len__(self) -> int:
        return len(self.stamps_ns)

    @cached_property
    def grey(self) -> NDArray[np.float32]:
        """Return thumbnails (n, h, 160) in grey."""
        return np.asarray(self.thumbs.mean(axis=3), np.float32)

    @cached_property
    def change(self) -> NDArray[np.float64]:
        """Return (n,) mean absolute grey difference to the image before."""
        steps = np.abs(np.diff(self.grey, axis=0)).mean(axis=(1, 2))
        return np.concatenate([[0.0], steps]) if len(self) else np.zeros(0)

    @cached_property
    def background(self) -> NDArray[np.float32]:
        """Return the median grey thumbnail: what stood still."""
        return np.asarray(np.median(self.grey[:: max(len(self) // 40, 1)], axis=0), np.float32)


def image_features(source: Callable[[int], Image], stamps_ns: Times) -> Features:
    """Decode every image of a stream once and keep what the checks need."""
    count, scale = len(stamps_ns), 1.0
    thumbs = np.zeros((0, WIDTH * 3 // 4, WIDTH, 3), np.uint8)
    digest = np.zeros(count, np.uint32)
    mean, dark, bright = np.zeros(count), np.ones(count), np.zeros(count)
    sharpness = np.full(count, np.nan)
    broken = []
    for i in range(count):
        try:
            pixels = source(i)
        except DecodeError:
            broken.append(i)
            continue
        if not len(thumbs):
            scale = pixels.shape[1] / WIDTH
            thumbs = np.zeros((count, max(round(pixels.shape[0] / scale), 1), WIDTH, 3), np.uint8)
        small = cv2.resize(pixels, (WIDTH, thumbs.shape[1]), interpolation=cv2.INTER_AREA)
        grey = small.mean(axis=2)
        thumbs[i] = small
        digest[i] = zlib.crc32(pixels.tobytes())
        mean[i], dark[i], bright[i] = grey.mean(), (grey < _DARK).mean(), (grey > _BRIGHT).mean()
        if i % _EVERY == 0:
            full = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
            sharpness[i] = cv2.Laplacian(full, cv2.CV_32F).var()
    return Features(stamps_ns, thumbs, digest, mean, dark, bright, sharpness, tuple(broken), scale)

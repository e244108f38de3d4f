# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Exact statistics over everything that is exported, in the form LeRobot's loaders expect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

QUANTILES = {'q01': 0.01, 'q10': 0.10, 'q50': 0.50, 'q90': 0.90, 'q99': 0.99}

Statistics = dict[str, Any]


class ValueStatistics:
    """Statistics of a vector feature; NaN, which marks what was not there, does not count."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.float64]] = []

    def add(self, values: NDArray[Any]) -> None:
        """Take values of shape (m, d)."""
        self._parts.append(values.astype(np.float64))

    def result(self) -> Statistics:
        """Return lists of length d, and the count of rows."""
        values = np.concatenate(self._parts)
        seen = np.where(np.isfinite(values).any(axis=0), values, 0.0)  # all-NaN columns read 0
        quantiles = np.nanquantile(seen, list(QUANTILES.values()), axis=0)
        return {
            'min': np.nanmin(seen, axis=0).tolist(),
            'max': np.nanmax(seen, axis=0).tolist(),
            'mean': np.nanmean(seen, axis=0).tolist(),
            'std': np.nanstd(seen, axis=0).tolist(),
            'count': [len(values)],
            **{name: q.tolist() for name, q in zip(QUANTILES, quantiles, strict=True)},
        }


class ImageStatistics:
    """Statistics of every pixel of a camera, from histograms: exact, in constant memory.

    ``scale`` divides stored values: 255 for RGB, 1 for depth in its own unit. ``counts`` is a row
    of pixels by level for each channel, and after them a row with the number of frames.
    """

    def __init__(self, *, channels: int, levels: int, scale: float) -> None:
        self.counts: NDArray[np.int64] = np.zeros((channels + 1, levels), np.int64)
        self._levels = levels
        self._scale = scale

    def add(self, image: NDArray[Any], *, times: int = 1) -> None:
        """Take one image (height, width, channels), or (height, width) for a single channel."""
        self.counts[-1, 0] += times
        for channel, counts in enumerate(self.counts[:-1]):
            histogram = cv2.calcHist([image], [channel], None, [self._levels], [0, self._levels])
            counts += times * histogram.ravel().astype(np.int64)

    def merge(self, counts: NDArray[np.int64]) -> None:
        """Take what other statistics of the same kind counted."""
        self.counts += counts

    def result(self) -> Statistics:
        """Return nested lists of shape (channels, 1, 1), and the count of frames."""
        pixels = self.counts[:-1].astype(np.float64)
        levels = np.arange(self._levels) / self._scale
        totals = pixels.sum(axis=1)
        mean = pixels @ levels / totals
        std = np.sqrt(np.maximum(pixels @ levels**2 / totals - mean**2, 0.0))
        ranks = np.cumsum(pixels, axis=1)
        seen = pixels > 0
        rows: dict[str, Iterable[np.float64]] = {
            'min': [levels[np.argmax(row)] for row in seen],
            'max': [levels[len(row) - 1 - np.argmax(row[::-1])] for row in seen],
            'mean': mean,
            'std': std,
            **{
                name: [levels[np.searchsorted(r, q * r[-1])] for r in ranks]
                for name, q in QUANTILES.items()
            },
        }
        nested = {name: [[[float(v)]] for v in values] for name, values in rows.items()}
        return {**nested, 'count': [int(self.counts[-1, 0])]}

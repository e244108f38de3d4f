# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Normalisation of vectors, as a checkpoint's description carries it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LEAST_STD = 0.01  # rad, m, N m: what hardly moves is not blown up


@dataclass(frozen=True)
class Scaling:
    """(value - mean) / std, in the stream's own units; both have shape (d,)."""

    mean: NDArray[np.float32]
    std: NDArray[np.float32]

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Scaling:
        """Measure the scaling of values (..., d)."""
        rows = values.reshape(-1, values.shape[-1])
        std = np.maximum(rows.std(axis=0), _LEAST_STD)
        return cls(rows.mean(axis=0).astype(np.float32), std.astype(np.float32))

    def normalise(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return values (..., d) as the network sees them."""
        return np.asarray((values - self.mean) / self.std, np.float32)

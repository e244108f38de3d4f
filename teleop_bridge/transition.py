# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A smooth way to rest for a joint vector, continuous in value and slope where it sets out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class FadeOut:
    """A cubic Hermite segment from ``origin`` and ``slope`` (per ``duration_ns``) to zero.

    Arrays have shape (n,).
    """

    origin: NDArray[np.float64]
    slope: NDArray[np.float64]
    start_ns: int
    duration_ns: int

    def at(self, now_ns: int) -> NDArray[np.float64]:
        """Return the value at ``now_ns``; zero once the duration is over."""
        s = min(max(0, now_ns - self.start_ns) / self.duration_ns, 1.0)
        return self.origin * (1 - s) ** 2 * (1 + 2 * s) + self.slope * s * (1 - s) ** 2

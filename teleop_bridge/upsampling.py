# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A command between two control periods, for controllers that don't interpolate themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Upsampler:
    """Goes straight to each command within one period, from wherever it was.

    A command of the limiter is so reached one period after it was made, at the velocity that the
    limiter gave it; where the next one is late, the last is held. Positions have shape (n,).
    """

    def __init__(self, *, period_ns: int) -> None:
        self._period_ns = period_ns
        self._origin: NDArray[np.float64] | None = None
        self._target: NDArray[np.float64] | None = None
        self._start_ns = 0

    def aim(self, positions: NDArray[np.float64], now_ns: int) -> None:
        """Set out for a new command."""
        self._origin = positions if self._target is None else self.at(now_ns)
        self._target, self._start_ns = positions, now_ns

    def at(self, now_ns: int) -> NDArray[np.float64] | None:
        """Return what is sent at ``now_ns``; None before the first command."""
        if self._target is None or self._origin is None:
            return None
        share = min(max(now_ns - self._start_ns, 0) / self._period_ns, 1.0)
        return self._origin + share * (self._target - self._origin)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How something changes over a session, from many sessions of different level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

MOST_SESSIONS = 500  # drawn from more: the interval is narrow by then
_Z = 1.959964        # of 95 %


@dataclass(frozen=True)
class Trend:
    """Change per episode with its 95 % interval, in the values' unit; NaN where unknown."""

    slope: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Tell whether the interval lies on one side of zero."""
        return self.low > 0.0 or self.high < 0.0


def session_trend(sessions: Sequence[NDArray[np.float64]]) -> Trend:
    """Return the trend over the episodes of a session, one array of values (n,) a session.

    The median of all slopes between two episodes of one session, which neither a session's level
    nor single odd episodes move, with the interval that Kendall's variance gives (R. M. Hirsch,
    J. R. Slack, R. A. Smith: Techniques of trend analysis for monthly water quality data, Water
    Resources Research 18:107-121, 1982; P. K. Sen, JASA 63:1379-1389, 1968).
    """
    kept = [values for values in sessions if len(values) > 1]
    if len(kept) > MOST_SESSIONS:
        drawn = np.random.default_rng(0).choice(len(kept), MOST_SESSIONS, replace=False)
        kept = [kept[index] for index in np.sort(drawn)]
    if sum(map(len, kept)) < 3:
        return Trend(math.nan, math.nan, math.nan)
    slopes = np.sort(np.concatenate([_slopes(values) for values in kept]))
    sizes = np.array([len(values) for values in kept], np.float64)
    spread = _Z * math.sqrt(float(np.sum(sizes * (sizes - 1) * (2 * sizes + 5)) / 18))
    low = max(math.floor((len(slopes) - spread) / 2), 0)
    high = min(math.ceil((len(slopes) + spread) / 2), len(slopes) - 1)
    return Trend(float(np.median(slopes)), float(slopes[low]), float(slopes[high]))


def _slopes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slopes between all pairs of values (n,), one step apart each."""
    early, late = np.triu_indices(len(values), 1)
    slopes: NDArray[np.float64] = (values[late] - values[early]) / (late - early)
    return slopes

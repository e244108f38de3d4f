# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Where values lie among those of a task's episodes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

FEW = 4  # episodes of a task below which nothing is compared with the others
_LEAST_DEVIATION = 0.3  # of smoothness: differences below it are nobody's fault


def percentile_among(values: Values, others: Values) -> Values:
    """Return the share of the others (k,) that are at most each value (n,), in percent, (n,).

    NaN where the value or all but three of the others are unknown.
    """
    known = np.sort(others[np.isfinite(others)])
    if len(known) < FEW:
        return np.full(len(values), math.nan)
    shares = 100 * np.searchsorted(known, values, side='right') / len(known)
    return np.where(np.isfinite(values), shares, math.nan)


def roughness_among(values: Values, others: Values) -> Values:
    """Return how far each smoothness (n,) lies below the median of others (k,), (n,).

    In robust deviations, 1.4826 times the median absolute one, which is the standard deviation of
    normal values, and at least 0.3. NaN as in ``percentile_among``.
    """
    known = others[np.isfinite(others)]
    if len(known) < FEW:
        return np.full(len(values), math.nan)
    median = float(np.median(known))
    deviation = max(1.4826 * float(np.median(np.abs(known - median))), _LEAST_DEVIATION)
    return (median - values) / deviation

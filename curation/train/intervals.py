# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How sure a success rate is, and a difference between two policies."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

_Z = 1.959964  # two-sided 95 %
_RESAMPLES = 4000


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return Wilson's (1927) 95 % score interval of a success rate."""
    if not trials:
        return 0.0, 1.0
    rate = successes / trials
    scale = 1 + _Z * _Z / trials
    middle = (rate + _Z * _Z / (2 * trials)) / scale
    half = _Z / scale * math.sqrt(rate * (1 - rate) / trials + (_Z / (2 * trials)) ** 2)
    return max(0.0, middle - half), min(1.0, middle + half)


def paired_difference(
    one: Sequence[Sequence[bool]], other: Sequence[Sequence[bool]]
) -> tuple[float, float, float]:
    """Return the mean of other - one with its 95 % interval, paired by seed and start state.

    Both are (seeds, starts). A bootstrap over seeds, then over start states; reproducible.
    """
    difference = np.array(other, float) - np.array(one, float)
    rng = np.random.default_rng(0)
    seeds, starts = difference.shape
    means = [
        difference[rng.integers(seeds, size=seeds)][:, rng.integers(starts, size=starts)].mean()
        for _ in range(_RESAMPLES)
    ]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(difference.mean()), float(low), float(high)

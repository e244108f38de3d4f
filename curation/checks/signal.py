# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Signal arithmetic that several checks share; times in s or ns as named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Times, Values

_AMBIGUOUS = 0.9
_DOUBT_S = 0.004
Flags = NDArray[np.bool_]


def spans(flags: Flags) -> list[tuple[int, int]]:
    """Return [start, end) of every stretch of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def longest(flags: Flags) -> tuple[int, int]:
    """Return [start, end) of the longest stretch of True; (0, 0) without any."""
    return max(spans(flags), key=lambda span: span[1] - span[0], default=(0, 0))


def spread(values: Values) -> float:
    """Return a robust standard deviation: 1.4826 times the median absolute deviation."""
    return float(1.4826 * np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


@dataclass(frozen=True)
class Delay:
    """How much later one signal shows what another did, s; ``uncertainty_s`` is one sigma."""

    seconds: float
    uncertainty_s: float
    correlation: float


def uniform(stamps_ns: Times, values: Values, grid_s: Values, start_ns: int) -> Values:
    """Interpolate (n, k) values linearly on uniform times, s after ``start_ns``: (m, k)."""
    seconds = (stamps_ns - start_ns) / 1e9
    return np.stack([np.interp(grid_s, seconds, column) for column in values.T], axis=1)


def delay(
    leading: Values, following: Values, step_s: float, most_s: float, *, parts: int = 6
) -> Delay | None:
    """Estimate by how much ``following`` (m, k) trails ``leading`` (m, k), both uniform in time.

    The peak of the normalised cross-correlation, summed over columns and refined by a parabola;
    the uncertainty is from estimates on parts of the signals. None where there is too little
    motion or no clear peak.
    """
    whole = peak(leading, following, step_s, most_s)
    if whole is None:
        return None
    size = len(leading) // parts
    pieces = (
        [
            peak(
                leading[i * size : (i + 1) * size],
                following[i * size : (i + 1) * size],
                step_s,
                most_s,
            )
            for i in range(parts)
        ]
        if size * step_s > 4 * most_s
        else []
    )
    values = np.array([piece[0] for piece in pieces if piece is not None and piece[1] > 0.3])
    few = max(step_s / 2, _DOUBT_S)  # where parts can't tell
    doubt = spread(values) / np.sqrt(len(values)) if len(values) > 2 else few
    return Delay(whole[0], max(float(doubt), step_s / 10), whole[1])


def peak(
    leading: Values,
    following: Values,
    step_s: float,
    most_s: float,
) -> tuple[float, float] | None:
    """Return the delay, s, at the peak of the cross-correlation, and the correlation there.

    None where the signals are short or still, or another delay within ``most_s`` explains them
    nearly as well, as in a periodic motion.
    """
    reach = int(round(most_s / step_s))
    if len(leading) < 3 * reach + 2:
        return None
    a = leading - leading.mean(axis=0)
    b = following - following.mean(axis=0)
    scale = a.std(axis=0) * b.std(axis=0)
    used = scale > 1e-12
    if not used.any():
        return None
    a, b = a[:, used] / a[:, used].std(axis=0), b[:, used] / b[:, used].std(axis=0)
    middle = b[reach : len(b) - reach]
    scores = np.array(
        [_alike(a[reach - k : len(a) - reach - k], middle) for k in range(-reach, reach + 1)]
    )
    best = int(np.argmax(scores))
    if best in (0, len(scores) - 1) or scores[best] <= 0:
        return None
    inner = scores[1:-1]
    tops = np.flatnonzero((inner > scores[:-2]) & (inner > scores[2:])) + 1
    if any(scores[k] > _AMBIGUOUS * scores[best] for k in tops if k != best):
        return None
    left, mid, right = scores[best - 1 : best + 2]
    bend = left - 2 * mid + right
    shift = 0.5 * (left - right) / bend if bend else 0.0
    return (best - reach + shift) * step_s, float(mid)


def _alike(one: Values, other: Values) -> float:
    """Return the correlation of two signals (m, k), all columns together."""
    size = float(np.sqrt((one * one).sum() * (other * other).sum()))
    return float((one * other).sum()) / size if size else 0.0

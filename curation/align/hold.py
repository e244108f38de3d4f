# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Pick messages for grid times: zero-order hold backwards, or the next message forwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Times


@dataclass(frozen=True)
class Pick:
    """For each of m grid times: the message's place in stamp order, -1 where there is none.

    ``age_ns`` (m,) is grid time minus stamp, negative for a later message; where there is none it
    is the distance to the first (or, forwards, last) message. ``fresh`` (m,): picked and within
    the maximum age.
    """

    index: Times
    age_ns: Times
    fresh: NDArray[np.bool_]


def hold(stamps_ns: Times, grid_ns: Times, max_age_ns: int | None) -> Pick:
    """Pick the newest message at or before each grid time; ``stamps_ns`` (n,) ascends.

    Of several messages with one stamp the last is picked.
    """
    index = np.searchsorted(stamps_ns, grid_ns, side='right') - 1
    age = grid_ns - stamps_ns[np.maximum(index, 0)]
    return _pick(index, age, index >= 0, max_age_ns)


def next_at_or_after(stamps_ns: Times, grid_ns: Times, max_age_ns: int | None) -> Pick:
    """Pick the first message at or after each grid time; ``stamps_ns`` (n,) ascends."""
    last = len(stamps_ns) - 1
    index = np.searchsorted(stamps_ns, grid_ns, side='left')
    there = index <= last
    age = grid_ns - stamps_ns[np.minimum(index, last)]
    return _pick(np.where(there, index, -1), age, there, max_age_ns)


def _pick(index: Times, age: Times, there: NDArray[np.bool_], max_age_ns: int | None) -> Pick:
    fresh = there if max_age_ns is None else there & (np.abs(age) <= max_age_ns)
    return Pick(index.astype(np.int64), age.astype(np.int64), fresh)

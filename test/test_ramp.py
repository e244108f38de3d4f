# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Authority's ramp: in bounds, smooth at both ends and at any change of mind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np

from teleop_bridge.ramp import Ramp

MS = 1_000_000
DURATION = 150 * MS
STEEPEST = 1.5  # of u^2 (3 - 2u)


def sample(ramp: Ramp, times: range, switches: dict[int, float]) -> np.ndarray:
    weights = []
    for now in times:
        if now in switches:
            ramp.go(switches[now], now)
        weights.append(ramp.weight(now))
    return np.array(weights)


def test_the_ramp_takes_its_time_and_rests_at_both_ends() -> None:
    times = range(0, 200 * MS, MS)
    weights = sample(Ramp(duration_ns=DURATION, weight=0.0), times, {10 * MS: 1.0})
    assert np.all(weights[:11] == 0.0)
    assert weights[10 + 75] == 0.5
    assert np.all(weights[160:] == 1.0)
    slopes = np.diff(weights)
    assert (
        abs(slopes[10]) < 2e-4 and abs(slopes[159]) < 2e-4
    )  # C1: no kink where it starts and ends
    assert np.all(slopes >= 0)


@given(
    st.sampled_from([0.0, 1.0]),
    st.lists(st.integers(1, 60), min_size=1, max_size=6),
    st.integers(100, 200),
)
def test_any_change_of_mind_is_smooth(first: float, gaps_5ms: list[int], duration_ms: int) -> None:
    target, now, switches = first, 0, {}
    for gap in gaps_5ms:
        now += gap * 5 * MS
        target = 1.0 - target
        switches[now] = target
    ramp = Ramp(duration_ns=duration_ms * MS, weight=first)
    weights = sample(ramp, range(0, now + 2 * duration_ms * MS, MS), switches)
    assert weights.min() >= 0.0 and weights.max() <= 1.0
    assert weights[-1] == target
    slope = np.diff(weights) * duration_ms
    assert np.abs(slope).max() <= STEEPEST
    # A kink would be a step of the slope by about 1 from one millisecond to the next.
    assert np.abs(np.diff(slope)).max() < 0.2

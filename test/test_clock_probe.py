# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Another machine's clock is told within its stated uncertainty, and so is its drift."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from recorder.timesync import ClockProbe, Exchange, kernel_sync

MS = 1_000_000
SECOND = 1_000_000_000


def exchange(at: int, offset: int, there: int, back: int, *, thinking: int = MS) -> Exchange:
    return Exchange(
        at, at + there + offset, at + there + thinking + offset, at + there + thinking + back
    )


@given(
    st.integers(-SECOND, SECOND),
    st.lists(st.tuples(st.integers(0, 50 * MS), st.integers(0, 50 * MS)), min_size=1, max_size=20),
)
def test_true_offset_is_within_the_uncertainty(offset: int, ways: list[tuple[int, int]]) -> None:
    probe = ClockProbe()
    for i, (there, back) in enumerate(ways):
        probe.add(exchange(i * MS * 100, offset, there, back))
    estimate = probe.estimate()
    assert estimate is not None and estimate.exchanges == len(ways)
    assert abs(estimate.offset_ns - offset) <= estimate.uncertainty_ns + 1


def test_drift_is_found_in_jitter_and_carried_to_the_last_exchange() -> None:
    rng = np.random.default_rng(3)
    probe = ClockProbe()
    drift = 20_000  # ns per s: 20 ppm
    for i in range(120):
        at = i * SECOND // 2
        offset = 3 * MS + drift * at // SECOND
        probe.add(exchange(at, offset, *(200_000 + rng.exponential(100_000, 2)).astype(int)))
    estimate = probe.estimate()
    assert estimate is not None and estimate.drift_ns_per_s is not None
    assert estimate.drift_ns_per_s == pytest.approx(drift, rel=0.1)
    truth = 3 * MS + drift * 119 // 2
    assert abs(estimate.offset_ns - truth) <= estimate.uncertainty_ns


def test_impossible_exchange_is_left_out_and_nothing_is_no_estimate() -> None:
    probe = ClockProbe()
    assert probe.estimate() is None
    probe.add(Exchange(0, 10, 5000, 20))  # answered later than it came back
    assert probe.estimate() is None


def test_kernel_tells_of_this_machine() -> None:
    state = kernel_sync()
    if not state:
        pytest.skip('adjtimex is not allowed here')
    assert set(state) == {'synchronised', 'offset_ns', 'estimated_error_ns', 'maximum_error_ns'}
    assert state['maximum_error_ns'] >= 0

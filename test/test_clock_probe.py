# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Another machine's clock is told within its stated uncertainty, and so is its drift."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from recorder.timesync import ClockProbe, daemon_state, Exchange, kernel_sync

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


def test_chrony_and_ptp_clocks_are_told_where_present(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a chronyc that prints what version 4.3 does."""
    monkeypatch.setenv('PATH', str(tmp_path))
    assert daemon_state(ptp=tmp_path / 'absent') == {}
    (tmp_path / 'ptp/ptp0').mkdir(parents=True)
    (tmp_path / 'ptp/ptp0/clock_name').write_text('igb\n')
    chronyc = tmp_path / 'chronyc'
    chronyc.write_text(
        '#!/bin/sh\necho 0A000001,10.0.0.1,3,1796097231.2,0.000001,-0.000002,0.000015,'
        '-12.5,0.001,0.02,0.0004,0.0001,64.2,Normal\n'
    )
    chronyc.chmod(0o755)
    assert daemon_state(ptp=tmp_path / 'ptp') == {
        'ptp_clocks': ['igb'],
        'chrony': {
            'server': '10.0.0.1',
            'stratum': 3,
            'leap': 'Normal',
            'last_offset_ns': -2000,
            'rms_offset_ns': 15000,
            'root_delay_ns': 400000,
            'root_dispersion_ns': 100000,
        },
    }
    chronyc.write_text('#!/bin/sh\necho 506 Cannot talk to daemon\nexit 1\n')
    assert daemon_state(ptp=tmp_path / 'absent') == {}

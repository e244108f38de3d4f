# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The follower's lag is read off where it is: known for a delayed copy, silent at rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from teleop_bridge.motion_lag import MotionLag

MS = 1_000_000


def run(path: Callable[[float], float], *, delay_s: float, droop: float = 0.0) -> MotionLag:
    """Command a path at 100 Hz and measure it delayed, between the commands."""
    lag = MotionLag()
    for period in range(300):
        now = period / 100
        lag.command(np.array([0.0, path(now)]), round(now * 1e9))
        seen = now + 0.004
        lag.measured(np.array([0.3, path(seen - delay_s) - droop]), round(seen * 1e9))
    return lag


@pytest.mark.parametrize('delay_s', [0.012, 0.045, 0.12])
def test_a_delayed_copy_s_delay_is_found(delay_s: float) -> None:
    latency = run(lambda t: 0.5 * np.sin(3 * t), delay_s=delay_s).latency
    assert latency.percentile_ms(50) == pytest.approx(1000 * delay_s, abs=1)
    assert latency.percentile_ms(99) == pytest.approx(1000 * delay_s, abs=3)


def test_droop_counts_as_the_time_that_it_takes_to_cover() -> None:
    latency = run(lambda t: 0.5 * t, delay_s=0.03, droop=0.005).latency
    assert latency.percentile_ms(50) == pytest.approx(40, abs=1)


def test_at_rest_nothing_is_told() -> None:
    assert np.isnan(run(lambda t: 0.2, delay_s=0.03).latency.percentile_ms(50))


def test_a_follower_ahead_of_every_command_tells_nothing() -> None:
    assert np.isnan(run(lambda t: 0.5 * t, delay_s=-0.05).latency.percentile_ms(50))

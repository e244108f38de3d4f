# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A trend over sessions is found whatever their level, and none is found where there is none."""

from __future__ import annotations

import math

import numpy as np

from curation.scores.trend import session_trend


def test_slope_is_found_beside_levels_and_odd_episodes() -> None:
    rng = np.random.default_rng(1)
    sessions = [level + 0.02 * np.arange(20) + rng.normal(0, 0.1, 20) for level in (0, 5, -3)]
    sessions[0][5] = 100.0
    found = session_trend(sessions)
    assert found.certain
    assert found.low < 0.02 < found.high
    assert abs(found.slope - 0.02) < 0.006


def test_the_interval_covers_zero_in_about_95_of_100_trendless_collections() -> None:
    rng = np.random.default_rng(2)
    certain = sum(
        session_trend([rng.normal(size=15) for _ in range(4)]).certain for _ in range(300)
    )
    assert certain < 27


def test_too_little_tells_nothing() -> None:
    assert math.isnan(session_trend([np.array([1.0, 2.0])]).slope)
    assert math.isnan(session_trend([]).slope)

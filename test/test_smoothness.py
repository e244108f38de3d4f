# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The smoothness that ranks is about how one moves, not about how long or how often."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
import pytest

from curation.scores.smoothness import (
    integrated_squared_jerk,
    log_dimensionless_jerk,
    smoothness,
    sparc,
)

Values = NDArray[np.float64]


def reach(rate_hz: float, *, seconds: float = 1.5, parts: int = 1) -> Values:
    """A reach of two joints there, in so many minimum-jerk submovements."""
    share = np.linspace(0, 1, round(seconds * rate_hz) + 1)[:, None]
    local = (share * parts) % 1.0
    local[-1] = 1.0
    step = local**3 * (10 - 15 * local + 6 * local**2)
    done = (np.minimum(np.floor(share * parts), parts - 1) + step) / parts
    return done * np.array([0.8, -0.5])


def session(
    reaches: list[Values], rate_hz: float, *, pause_s: float = 0.5
) -> tuple[Values, Values]:
    """Reaches there and back with pauses between, and the times of the samples."""
    pieces, forth = [], True
    for piece in reaches:
        path = piece if forth else piece[::-1]
        pieces += [path, np.repeat(path[-1:], round(pause_s * rate_hz), axis=0)]
        forth = not forth
    positions = np.concatenate(pieces)
    return np.arange(len(positions)) / rate_hz, positions


def test_sparc_of_a_minimum_jerk_reach_is_near_its_published_value() -> None:
    position = reach(100.0)[:, 0]
    speed = np.abs(np.gradient(position, 0.01))
    assert sparc(speed, 100.0) == pytest.approx(-1.41, abs=0.03)  # Balasubramanian 2015, fig. 3


def test_jerk_of_a_minimum_jerk_reach_is_the_analytic_one() -> None:
    rate, seconds, amplitude = 1000.0, 1.5, 0.8
    position = reach(rate, seconds=seconds)[:, :1]
    exact = 720 * amplitude**2 / seconds**5
    assert integrated_squared_jerk(position, rate) == pytest.approx(exact, rel=0.01)
    peak = 1.875 * amplitude / seconds
    expected = -math.log(seconds**3 / peak**2 * exact)
    assert log_dimensionless_jerk(position, rate) == pytest.approx(expected, abs=0.02)


def test_more_submovements_rank_lower() -> None:
    rankings = [
        smoothness(*session([reach(100.0, parts=parts)] * 4, 100.0)).ranking
        for parts in (1, 2, 4)
    ]
    assert rankings[0] > rankings[1] > rankings[2]


@pytest.mark.parametrize('parts', [1, 3])
def test_length_pauses_rate_and_noise_hardly_move_the_ranking(parts: int) -> None:
    base = smoothness(*session([reach(100.0, parts=parts)] * 4, 100.0)).ranking
    longer = smoothness(*session([reach(100.0, parts=parts)] * 16, 100.0)).ranking
    paused = smoothness(*session([reach(100.0, parts=parts)] * 4, 100.0, pause_s=3.0)).ranking
    slow = smoothness(*session([reach(30.0, parts=parts)] * 4, 30.0)).ranking
    fast = smoothness(*session([reach(500.0, parts=parts)] * 4, 500.0)).ranking
    times, positions = session([reach(200.0, parts=parts)] * 4, 200.0)
    noise = np.random.default_rng(1).normal(0, 1e-4, positions.shape)
    noisy = smoothness(times, positions + noise).ranking
    assert [longer, paused, slow, fast, noisy] == pytest.approx([base] * 5, rel=0.05)


def test_gripper_events_separate_movements() -> None:
    times, positions = session([reach(100.0)] * 2, 100.0, pause_s=0.0)
    assert smoothness(times, positions, events_s=np.array([1.5])).movements == 2
    assert smoothness(times, positions).movements == 1


def test_what_does_not_move_has_no_smoothness() -> None:
    still = smoothness(np.arange(300) / 100.0, np.zeros((300, 2)))
    assert math.isnan(still.ranking)
    assert still.movements == 0
    assert math.isnan(smoothness(np.empty(0), np.empty((0, 2))).ranking)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Initial states are ordered by what they add; grasps are counted at the gripper."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import numpy as np

from curation.scores.coverage import added_gains, farthest_point_order, gains
from curation.scores.grasps import closings


def test_gain_is_the_distance_to_the_nearest_earlier_point() -> None:
    found = gains(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 3.0], [0.0, 0.0]]))
    assert np.isnan(found[0])
    assert found[1:].tolist() == [5.0, 1.0, 0.0]


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_each_pick_is_the_farthest_from_those_before(count: int, seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    order, radius = farthest_point_order(points, count)
    assert sorted(order) == list(range(count))
    for index in range(1, count):
        distances = np.linalg.norm(points[:, None] - points[order[:index]], axis=2).min(axis=1)
        np.testing.assert_allclose(radius[index], distances.max(), atol=1e-6)
        np.testing.assert_allclose(distances[order[index]], distances.max(), atol=1e-6)


def test_a_fumbled_grasp_is_two_closings() -> None:
    corners = [1.0, 1.0, 0.2, 0.2, 1.0, 1.0, 0.3, 0.3, 1.0]
    opening = np.interp(np.linspace(0, 8, 400), np.arange(9), corners)
    closed, opened = closings(opening)
    assert len(closed) == 2
    assert len(opened) == 2
    assert closed[0] < opened[0] < closed[1] < opened[1]


def test_a_gripper_that_trembles_or_stays_still_grasps_nothing() -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, 500)
    assert len(closings(1.0 + noise)[0]) == 0


def test_gains_by_trees_are_those_of_comparing_all() -> None:
    points = np.random.default_rng(3).normal(size=(500, 3))
    brute = [np.min(np.linalg.norm(points[:i] - points[i], axis=1)) for i in range(1, 500)]
    assert np.allclose(gains(points)[1:], brute)


def test_what_is_not_known_has_no_gain_and_is_near_to_nothing() -> None:
    found = gains(np.array([[0.0], [np.nan], [2.0], [0.0]]))
    assert np.isnan(found[:2]).all()
    assert found[2:].tolist() == [2.0, 0.0]


def test_what_new_points_add_is_what_all_together_would_give() -> None:
    points = np.random.default_rng(4).normal(size=(300, 3))
    assert np.allclose(added_gains(points[:250], points[250:]), gains(points)[250:])
    assert np.isnan(added_gains(points[:0], points[:1])).all()

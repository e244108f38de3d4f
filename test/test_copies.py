# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Near-copies are found whatever their speed, pauses and noise; other attempts are not."""

from __future__ import annotations

import numpy as np

from curation.scores.copies import clusters, near_copies, outline


def attempt(seed: int, *, rate: float = 30.0, noise: float = 0.0) -> np.ndarray:
    """Joints (m, 6) on smooth ways through random poses, with a pause in the middle."""
    rng = np.random.default_rng(seed)
    poses = rng.uniform(-1, 1, (5, 6))
    at = np.concatenate([np.linspace(0, 2, round(3 * rate)), np.full(round(rate), 2.0),
                         np.linspace(2, 4, round(3 * rate))])
    ways = np.stack([np.interp(at, np.arange(5), column) for column in poses.T], axis=1)
    return ways + np.random.default_rng(seed + 99).normal(0, noise, ways.shape)


def test_the_same_way_at_another_speed_and_with_noise_is_a_near_copy() -> None:
    episodes = [*(attempt(seed) for seed in range(60)), attempt(7, rate=80, noise=0.001)]
    found = near_copies(np.array([outline(e).ravel() for e in episodes], float))
    assert [(i, j) for i, j, _ in found] == [(7, 60)]
    assert found[0][2] < 0.01


def test_candidates_by_tree_are_those_of_comparing_all() -> None:
    rng = np.random.default_rng(5)
    outlines = rng.normal(0, 0.02, (300, 96))
    distance = np.sqrt(np.mean((outlines[:, None] - outlines[None]) ** 2, axis=2))
    tolerance = 0.024
    first, second = np.nonzero(np.triu(distance <= tolerance, 1))
    found = near_copies(outlines, tolerance)
    assert 0 < len(found) == len(first)
    assert [(i, j) for i, j, _ in found] == list(zip(first, second, strict=True))


def test_chains_make_one_cluster_and_the_unknown_is_alone() -> None:
    assert clusters(5, [(0, 3, 0.1), (3, 4, 0.1)]).tolist() == [0, 1, 2, 0, 0]
    assert near_copies(np.array([outline(np.full((9, 6), np.nan)).ravel()] * 2, float)) == []

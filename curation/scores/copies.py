# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Near-copies: episodes whose joints went the same way, whenever and however fast."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Values = NDArray[np.float64]

POINTS = 16          # of an outline
NEAR_COPY_RAD = 0.02  # root mean square over points and joints
_STEP_RAD = 0.01     # moves below it, such as encoder noise, don't lengthen the way
_TREE_DIMENSIONS = 6
_CHUNK = 200_000     # pairs whose outlines are compared at once


def outline(state: Values) -> NDArray[np.float32]:
    """Return where the joints (m, n) were at 16 points evenly spaced along their way, (16, n).

    Spacing by the way instead of by time makes pauses and speed irrelevant. NaN rows are left out;
    (16, n) NaN where nothing is known.
    """
    known = state[np.isfinite(state).all(axis=1)]
    if not len(known):
        return np.full((POINTS, state.shape[1]), np.nan, np.float32)
    corners = [known[0]]
    for row in known:
        if np.max(np.abs(row - corners[-1])) >= _STEP_RAD:
            corners.append(row)
    way = np.array([*corners, known[-1]])
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
    wanted = np.linspace(0.0, length[-1], POINTS)
    return np.stack(
        [np.interp(wanted, length, column) for column in way.T], axis=1
    ).astype(np.float32)


Pair = tuple[int, int, float]


def near_copies(outlines: Values, tolerance: float = NEAR_COPY_RAD) -> list[Pair]:
    """Return pairs i < j of outlines (k, d) that are at most tolerance apart, and how far, rad.

    A tree over the directions of largest variance finds candidates: a projection never makes two
    outlines look farther apart, so that none is missed.
    """
    known = np.flatnonzero(np.isfinite(outlines).all(axis=1))
    if len(known) < 2:
        return []
    values = outlines[known]
    radius = tolerance * math.sqrt(values.shape[1])
    centred = values - values.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    projected = centred @ axes[:, -_TREE_DIMENSIONS:]
    pairs = cKDTree(projected).query_pairs(radius, output_type='ndarray')
    found: list[Pair] = []
    for begin in range(0, len(pairs), _CHUNK):
        first, second = pairs[begin : begin + _CHUNK].T
        apart = np.sqrt(np.mean((values[first] - values[second]) ** 2, axis=1))
        near = np.flatnonzero(apart <= tolerance)
        found += [(int(known[first[k]]), int(known[second[k]]), float(apart[k])) for k in near]
    return sorted((min(i, j), max(i, j), apart) for i, j, apart in found)


def clusters(count: int, pairs: list[Pair]) -> NDArray[np.int64]:
    """Return the number of each item's cluster (count,): that of its first member."""
    first = np.arange(count)

    def root(item: int) -> int:
        while first[item] != item:
            first[item] = first[first[item]]
            item = int(first[item])
        return item

    for i, j, _ in pairs:
        a, b = sorted((root(i), root(j)))
        first[b] = a
    return np.array([root(item) for item in range(count)], np.int64)

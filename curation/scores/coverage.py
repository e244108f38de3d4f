# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How the initial states of episodes fill the workspace."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from curation.align.episode import Episode
from teleop_bridge.rig.schema import Role

Points = NDArray[np.float64]

_FEW = 64  # points that are compared one by one


def initial_state(episode: Episode) -> tuple[str, Points]:
    """Return what an episode began from and which it is: the object's position, else the joints.

    On a real rig the arm starts at home, so that the object's pose, where it is known, tells more.
    """
    for stream in episode.rig.by_role(Role.POSE):
        signal = episode.signals.get(stream.name)
        if signal is not None and signal.valid[0]:
            return f'object position ({stream.name})', signal.values[0, :3]
    return 'robot joints', episode.state[0]


def final_state(episode: Episode) -> Points:
    """Return what ``initial_state`` tells of the beginning, of the end."""
    last: Points = episode.state[-1]
    for stream in reversed(episode.rig.by_role(Role.POSE)):
        signal = episode.signals.get(stream.name)
        if signal is not None and signal.valid[0]:
            last = signal.values[np.flatnonzero(signal.valid)[-1], :3]
    return last


def gains(points: Points) -> NDArray[np.float64]:
    """Return the distance of each of the points (k, d) to the nearest earlier one; first NaN.

    Halves are compared by a tree of the earlier one: k log^2 k instead of k^2. A point that is not
    known has no gain and is near to nothing.
    """
    known = np.isfinite(points).all(axis=1)
    if not known.all():
        told = np.full(len(points), math.nan)
        told[known] = gains(points[known])
        return told
    found = np.full(len(points), math.inf)

    def solve(begin: int, end: int) -> None:
        if end - begin <= _FEW:
            for index in range(begin + 1, end):
                distances = np.linalg.norm(points[begin:index] - points[index], axis=1)
                found[index] = min(found[index], float(np.min(distances)))
            return
        middle = (begin + end) // 2
        solve(begin, middle)
        solve(middle, end)
        nearest, _ = cKDTree(points[begin:middle]).query(points[middle:end])
        np.minimum(found[middle:end], nearest, out=found[middle:end])

    solve(0, len(points))
    found[:1] = math.nan
    return found


def farthest_point_order(points: Points, count: int, *, first: int = 0) -> tuple[
    NDArray[np.int64], NDArray[np.float64]
]:
    """Return a greedy farthest-point order of points (n, d) and each pick's distance when picked.

    The second array after pick k is the radius that k picks leave uncovered (T. F. Gonzalez:
    Clustering to minimize the maximum intercluster distance, 1985); its first entry is infinite.
    """
    count = min(count, len(points))
    order = np.empty(count, np.int64)
    radius = np.empty(count)
    squared = np.sum(points**2, axis=1)
    nearest = np.full(len(points), math.inf)
    doubled, distance = -2.0 * points, np.empty(len(points))  # one pass over the points a pick
    pick = first
    for index in range(count):
        order[index], radius[index] = pick, math.sqrt(max(float(nearest[pick]), 0.0))
        # not np.dot: threads of BLAS wait for each other longer than this takes
        np.einsum('ij,j->i', doubled, points[pick], out=distance)
        distance += squared
        distance += squared[pick]
        np.minimum(nearest, distance, out=nearest)
        nearest[pick] = 0.0
        pick = int(np.argmax(nearest))
    return order, radius


def added_gains(known: Points, new: Points) -> NDArray[np.float64]:
    """Return what each of the new points (m, d) adds to known (n, d) and to the new before it.

    As ``gains`` of all of them would, without looking at the known among themselves.
    """
    found = gains(new)
    if len(known) and len(new):
        nearest, _ = cKDTree(known).query(new)
        found = np.fmin(found, nearest)
    return found

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Where to begin the next episodes: the emptiest parts of what the rig can reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree, Delaunay, QhullError
from scipy.stats import qmc

from teleop_bridge.rig.schema import Rig
from teleop_bridge.rig.tasks import Location, Task

Points = NDArray[np.float64]

_STEP_M = 0.01         # between object places that are considered
_POSES_LOG2 = 12       # start poses that are considered, as a power of two
_MARGIN = 0.1          # of each joint's range, kept away from its limits


@dataclass(frozen=True)
class Proposal:
    """One start to collect: point in the basis' unit, gain its distance to all known.

    near describes the closest location of the task, location is its id; empty without any.
    """

    point: tuple[float, ...]
    gain: float
    near: str
    location: str


def propose(known: Points, candidates: Points, count: int) -> list[tuple[int, float]]:
    """Return greedily the candidates (c, d) farthest from known (n, d) points and each other.

    Each is given with its distance when picked, which is the radius of the emptiest region left
    (T. F. Gonzalez: Clustering to minimize the maximum intercluster distance, 1985).
    """
    nearest = np.full(len(candidates), math.inf)
    if len(known):
        nearest, _ = cKDTree(known).query(candidates)
    picks = []
    for _ in range(min(count, len(candidates))):
        pick = int(np.argmax(nearest))
        picks.append((pick, float(nearest[pick])))
        np.minimum(
            nearest, np.linalg.norm(candidates - candidates[pick], axis=1), out=nearest
        )
    return picks


def places(task: Task | None, known: Points) -> Points:
    """Return a grid (c, 2) over the task's mat: where objects can lie, m, in the base frame.

    The mat is the convex hull of the task's locations that have coordinates; where fewer than
    three do, that of the places (k, 2) where objects lay.
    """
    named = task.locations if task is not None else ()
    corners = np.array([place.xyz[:2] for place in named if place.xyz], float)
    if len(corners) < 3:
        corners = known
    try:
        hull = Delaunay(corners)
    except (QhullError, ValueError):  # all on one line, or too few
        return np.asarray(corners)
    axes = [np.arange(low, high, _STEP_M) for low, high in zip(
        corners.min(axis=0), corners.max(axis=0), strict=True
    )]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    inside = grid[hull.find_simplex(grid) >= 0]
    return np.concatenate([hull.points[hull.convex_hull.ravel()], inside])


def start_poses(rig: Rig, known: Points) -> Points:
    """Return start poses (c, n) that fill the joint limits evenly, by a Sobol sequence.

    A joint without limits is thought to reach what known poses (k, n) reached.
    """
    low = np.array([joint.lower for joint in rig.joints], float)
    high = np.array([joint.upper for joint in rig.joints], float)
    low = np.where(np.isfinite(low), low, known.min(axis=0))
    high = np.where(np.isfinite(high), high, known.max(axis=0))
    unit = qmc.Sobol(len(low), scramble=False).random_base2(_POSES_LOG2)
    poses: Points = low + (high - low) * (_MARGIN + (1 - 2 * _MARGIN) * unit)
    return poses


def collect_next(
    initial: Points, basis: str, rig: Rig, task: Task | None, count: int
) -> list[Proposal]:
    """Propose count starts beside initial states (n, d) of one task, emptiest region first.

    States that are not known are left out; without any there is no proposal.
    basis is that of ``initial_state``: object places on the mat, else poses of the robot.
    """
    initial = initial[np.isfinite(initial).all(axis=1)]
    if not len(initial):
        return []
    locations = task.locations if task is not None else ()
    if basis.startswith('object'):
        known = initial[:, :2]
        candidates = places(task, known)
    else:
        locations = ()
        known, candidates = initial, start_poses(rig, initial)
    proposals = []
    for pick, gain in propose(known, candidates, count):
        point = tuple(float(value) for value in candidates[pick])
        near = _nearest(candidates[pick], locations)
        proposals.append(Proposal(point, gain, near.description or near.id, near.id))
    return proposals


def _nearest(point: Points, locations: Sequence[Location]) -> Location:
    placed = [location for location in locations if location.xyz]
    if not placed:
        return Location('')
    return min(placed, key=lambda place: math.dist(place.xyz[:2] if place.xyz else (), point))

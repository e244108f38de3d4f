# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How much the state tells of the action, episode by episode: predictable actions can be learnt.

A low score is an operator who does different things in the same state. J. Hejna et al.: Robot data
curation with mutual information estimators (DemInf), RSS 2025, which ranks episodes by their share
of such an estimate; here over windows of joints instead of learnt embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import digamma

from curation.align.episode import Episode

Values = NDArray[np.float64]

NEIGHBOURS = 5
_WINDOW = 4         # actions ahead, a stride apart
_STRIDE_S = 0.2
_MOST = 8_000       # samples that are compared with each other
_JITTER = 1e-6      # of a standard deviation: where values repeat, distances are not 0


def local_information(x: Values, y: Values, neighbours: int = NEIGHBOURS) -> Values:
    """Return each sample's part (n,) of the mutual information of x (n, a) and y (n, b), nats.

    Their mean is the estimate (A. Kraskov, H. Stoegbauer, P. Grassberger: Estimating mutual
    information, Phys Rev E 69:066138, 2004, eq. 8).
    """
    if len(x) <= neighbours:
        return np.full(len(x), np.nan)
    rng = np.random.default_rng(0)
    x, y = (_standardised(values, rng) for values in (x, y))
    joint = cKDTree(np.hstack([x, y]))
    distance = joint.query(joint.data, neighbours + 1, p=np.inf)[0][:, -1]
    counts = [
        cKDTree(values).query_ball_point(
            values, np.nextafter(distance, 0), p=np.inf, return_length=True)
        for values in (x, y)
    ]  # each counts itself: n_x + 1
    parts = digamma(neighbours) - digamma(counts[0]) - digamma(counts[1]) + digamma(len(x))
    return np.asarray(parts, np.float64)


def information(episodes: Sequence[Episode]) -> Values:
    """Return each episode's mean part (k,) of the information of states and coming actions.

    Episodes must be of one task and rig, since they are compared with each other; NaN where an
    episode has no action or nothing valid.
    """
    pairs = [_pairs(episode) for episode in episodes]
    owner = np.repeat(np.arange(len(pairs)), [len(states) for states, _ in pairs])
    if not len(owner):
        return np.full(len(pairs), np.nan)
    states = np.concatenate([states for states, _ in pairs if len(states)])
    actions = np.concatenate([actions for _, actions in pairs if len(actions)])
    if len(owner) > _MOST:
        drawn = np.sort(np.random.default_rng(0).choice(len(owner), _MOST, replace=False))
        owner, states, actions = owner[drawn], states[drawn], actions[drawn]
    parts = local_information(states, actions)
    sums = np.bincount(owner, parts, len(pairs))
    counts = np.bincount(owner, minlength=len(pairs))
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _pairs(episode: Episode) -> tuple[Values, Values]:
    """Return states (n, j) and how far the actions of a window after each go on, (n, w * j)."""
    joints = len(episode.rig.joints)
    nothing = np.empty((0, joints)), np.empty((0, _WINDOW * joints))
    if episode.action is None:
        return nothing
    step = max(round(_STRIDE_S * 1e9 / episode.period_ns), 1)
    last = len(episode) - _WINDOW * step
    rows = np.arange(0, max(last, 0), step)
    if not len(rows):
        return nothing
    state = episode.state[rows]
    ahead = [episode.action[rows + step * k] - state for k in range(1, _WINDOW + 1)]
    actions = np.concatenate(ahead, axis=1)
    known = np.isfinite(state).all(axis=1) & np.isfinite(actions).all(axis=1)
    known &= episode.valid[rows]
    return state[known], actions[known]


def _standardised(values: Values, rng: np.random.Generator) -> Values:
    spread = values.std(axis=0)
    scaled = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.asarray(scaled + rng.normal(0, _JITTER, scaled.shape), np.float64)

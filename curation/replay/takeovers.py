# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint does where people took over from its predecessor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from curation.align.episode import Episode, Intervention
from curation.replay.divergence import observation_at, Spread
from curation.replay.phases import phases
from teleop_bridge.policy.base import Policy

_SAME = 1.0  # spreads: nearer than this to its predecessor's proposals, it does the same


@dataclass(frozen=True)
class Takeover:
    """One intervention; ``distance`` is the mean distance to the predecessor in its window.

    It is in units of people's spread, of the joint that differs most; NaN where the window holds
    no proposal of the predecessor.
    """

    episode: str
    intervention: Intervention
    phase: str
    distance: float

    @property
    def same(self) -> bool | None:
        """Whether it would still do what its predecessor did; None where unknown."""
        return None if np.isnan(self.distance) else self.distance < _SAME


def takeovers(policy: Policy, episode: Episode, spread: Spread) -> list[Takeover]:
    """Compare the policy with its predecessor in the window before each takeover."""
    split = phases(episode)
    found = []
    for intervention in episode.interventions:
        onset = intervention.begin_ns - intervention.pre_window_ns
        grid = episode.grid_ns
        window = np.flatnonzero((grid >= onset) & (grid < intervention.begin_ns))
        at = int(np.searchsorted(grid, intervention.begin_ns))
        phase = next((p for p in split if p.start <= at < p.stop), split[-1])
        unit = spread.of(phase.kind)
        distances = []
        for index in window:
            moved = _difference(policy, episode, int(index))
            if moved is not None:
                distances.append(float(np.max(np.abs(moved) / unit)))
        distance = float(np.mean(distances)) if distances else float('nan')
        found.append(Takeover(episode.name, intervention, phase.name, distance))
    return found


def _difference(policy: Policy, episode: Episode, index: int) -> np.ndarray | None:
    """Return its first proposal minus the predecessor's for that time, (n,)."""
    if episode.policy is None:
        return None
    seen = observation_at(policy, episode, index)
    chunk = policy.propose(seen) if seen is not None else None
    if chunk is None:
        return None
    row = int(np.searchsorted(episode.grid_ns, chunk.times_ns[0], side='right')) - 1
    theirs = episode.policy[row]
    return chunk.positions[0] - theirs if np.all(np.isfinite(theirs)) else None

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Many episodes against one checkpoint: where it diverges, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from curation.align.episode import Episode
from curation.replay.divergence import measure_spread, replay, Replayed
from curation.replay.phases import Phase
from curation.replay.takeovers import Takeover, takeovers
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.policy.base import Policy

_LEAST_S = 0.3  # of divergence in a row, to call it that


@dataclass(frozen=True)
class Replays:
    """What replaying gave; beyond ``threshold`` spreads of people a proposal diverges."""

    checkpoint: str
    threshold: float
    episodes: tuple[Replayed, ...]
    takeovers: tuple[Takeover, ...]

    def diverges_at(self, one: Replayed) -> Phase | None:
        """Return the phase in which an episode first diverges for longer than a moment."""
        least = max(1, round(_LEAST_S * NANOSECONDS / one.episode.period_ns))
        return one.first_beyond(self.threshold, least)

    def by_phase(self) -> dict[str, list[Replayed]]:
        """Return the episodes by the phase in which they first diverge, the commonest first."""
        places: dict[str, list[Replayed]] = {}
        for one in self.episodes:
            if phase := self.diverges_at(one):
                places.setdefault(phase.name, []).append(one)
        return dict(sorted(places.items(), key=lambda place: -len(place[1])))

    def sentences(self) -> list[str]:
        """Say where it diverges, and what it does where people took over from another."""
        total, places = len(self.episodes), self.by_phase()
        told = [
            f'diverges at the {name} in {len(found)} of {total} episodes'
            for name, found in places.items()
        ]
        steady = total - sum(map(len, places.values()))
        told.append(f'stays with people throughout in {steady} of {total} episodes')
        if self.takeovers:
            same = sum(takeover.same is True for takeover in self.takeovers)
            known = sum(takeover.same is not None for takeover in self.takeovers)
            told.append(f'before {same} of {known} takeovers it does what its predecessor did')
        return told


def replay_all(
    policy: Policy,
    episodes: Sequence[Episode],
    *,
    delay_ns: int,
    threshold: float,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Replays:
    """Replay episodes, whose own spread is the unit; raises as replay() does."""
    spread = measure_spread(episodes)
    replayed: list[Replayed] = []
    caught: list[Takeover] = []
    for episode in episodes:
        policy.reset()
        replayed.append(replay(policy, episode, spread, delay_ns=delay_ns))
        caught += takeovers(policy, episode, spread)
        advance(len(replayed), len(episodes))
    return Replays(policy.checkpoint, threshold, tuple(replayed), tuple(caught))

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How far a policy's proposals are from what people did, in units of people's own spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.exceptions import StreamError
from curation.replay.phases import Phase, phases
from teleop_bridge.joints import JointSample
from teleop_bridge.policy.base import check_chunk, Observation, Policy
from teleop_bridge.policy.onnx import STATE

_BINS = 8             # of a phase's share of time, in which people are compared
_LEAST_SPREAD = 0.02  # rad: people who agree better than this agree
_AHEAD_NS = 200_000_000  # people's moves are compared over this time

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """People's own spread of moves, rad, by phase kind: (n joints,) each."""

    by_kind: dict[str, Values]
    overall: Values

    def of(self, kind: str) -> Values:
        """Return the spread in a phase; over everything where it was never seen."""
        return self.by_kind.get(kind, self.overall)


@dataclass(frozen=True)
class Replayed:
    """One episode against the policy's proposals.

    ``divergence`` (m, n): root mean square over the executed part of the chunk proposed at each
    grid time, per joint, in units of people's spread; NaN where nothing can be compared.
    """

    episode: Episode
    phases: tuple[Phase, ...]
    divergence: Values

    @property
    def worst(self) -> Values:
        """Return each grid time's most diverging joint, (m,)."""
        shown = np.where(np.isnan(self.divergence), -np.inf, self.divergence).max(axis=1)
        return np.where(np.isinf(shown), np.nan, shown)

    def first_beyond(self, threshold: float, least: int) -> Phase | None:
        """Return the phase in which it first diverges for ``least`` grid times in a row."""
        beyond = np.nan_to_num(self.worst) > threshold
        run = 0
        for index, over in enumerate(beyond):
            run = run + 1 if over else 0
            if run >= least:
                begin = index - least + 1
                return next(p for p in self.phases if p.start <= begin < p.stop)
        return None


def measure_spread(episodes: Sequence[Episode]) -> Spread:
    """Measure how differently people move at the same point of a phase.

    A move is the action ``_AHEAD_NS`` ahead minus the measured joints. Within each phase kind,
    moves are compared at equal shares of the phase's time; the spread is the standard deviation
    around the mean of each share, pooled over shares.
    """
    residuals: dict[str, list[Values]] = {}
    moves: dict[tuple[str, int], list[Values]] = {}
    for episode in episodes:
        ahead = max(1, round(_AHEAD_NS / episode.period_ns))
        action = _actions(episode)
        for phase in phases(episode):
            for index in range(phase.start, min(phase.stop, len(episode) - ahead)):
                share = (index - phase.start) / (phase.stop - phase.start)
                move = action[index + ahead] - episode.state[index]
                if np.all(np.isfinite(move)):
                    moves.setdefault((phase.kind, int(share * _BINS)), []).append(move)
    for (kind, _), rows in moves.items():
        if len(rows) > 1:
            residuals.setdefault(kind, []).append(np.array(rows) - np.mean(rows, axis=0))
    if not residuals:
        raise StreamError('replay: expected episodes with executed actions, found none')
    by_kind = {kind: _deviation(np.concatenate(parts)) for kind, parts in residuals.items()}
    everything = np.concatenate([part for parts in residuals.values() for part in parts])
    return Spread(by_kind, _deviation(everything))


def replay(
    policy: Policy, episode: Episode, spread: Spread, *, delay_ns: int = 0
) -> Replayed:
    """Ask the policy at every grid time of an episode and compare its chunks with the actions.

    ``delay_ns`` is the real loop's from capture to command: that much of each chunk has passed
    before it is executed. Raises StreamError where the episode lacks an input, PolicyError where a
    proposal is broken.
    """
    split = tuple(phases(episode))
    action = _actions(episode)
    found = np.full(episode.state.shape, np.nan)
    for phase in split:
        unit = spread.of(phase.kind)
        for index in range(phase.start, phase.stop):
            errors = _errors(policy, episode, action, index, delay_ns)
            if errors is not None:
                found[index] = np.sqrt(np.mean(errors**2, axis=0)) / unit
    return Replayed(episode, split, found)


def observation_at(policy: Policy, episode: Episode, index: int) -> Observation | None:
    """Return what the policy would have seen at a grid time; None where an input is masked."""
    stamp_ns = int(episode.grid_ns[index])
    values: dict[str, NDArray[Any]] = {}
    stamps: dict[str, int] = {}
    for name in policy.inputs:
        if name in episode.frames:
            if not episode.tracks[name].valid[index]:
                return None
            values[name] = episode.frames[name](int(episode.indices[name][index]))
            stamps[name] = stamp_ns
            continue
        if name not in episode.signals:
            known = ', '.join((*episode.signals, *episode.frames))
            raise StreamError(f"{episode.name}: no signal '{name}' to look at (known: {known})")
        signal = episode.signals[name]
        if not signal.valid[index]:
            return None
        values[name], stamps[name] = signal.values[index], stamp_ns
    if not np.all(np.isfinite(episode.state[index])):
        return None
    state = JointSample(episode.rig.joint_names, episode.state[index], stamp_ns)
    return Observation(stamp_ns, state, {**values, STATE: state.positions}, stamps)


def _errors(
    policy: Policy, episode: Episode, action: Values, index: int, delay_ns: int
) -> Values | None:
    seen = observation_at(policy, episode, index)
    chunk = policy.propose(seen) if seen is not None else None
    if chunk is None:
        return None
    check_chunk(chunk, episode.rig)
    first = episode.grid_ns[index] + delay_ns
    used = (chunk.times_ns > first) & (chunk.times_ns <= first + policy.period_ns)
    used &= chunk.times_ns <= episode.grid_ns[-1]
    if not used.any():
        return None
    # The action executed from each of the chunk's times on: nothing is interpolated.
    rows = np.searchsorted(episode.grid_ns, chunk.times_ns[used], side='right') - 1
    errors = chunk.positions[used] - action[rows]
    return errors if np.all(np.isfinite(errors)) else None


def _actions(episode: Episode) -> Values:
    if episode.action is None:
        raise StreamError(f'{episode.name}: its rig declares no executed action to compare with')
    return episode.action


def _deviation(rows: Values) -> Values:
    deviation: Values = np.maximum(rows.std(axis=0), _LEAST_SPREAD)
    return deviation

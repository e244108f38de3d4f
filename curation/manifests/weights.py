# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How much an episode and each of its samples count in training, with every choice stated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.exceptions import ManifestError
from teleop_bridge.clock import NANOSECONDS

_DAY_NS = 86_400 * NANOSECONDS
_MOST_INTERVENTION = 4.0
_LEAST_QUALITY = 0.25
_SHARED = 0.5  # authority below which the policy drives


@dataclass(frozen=True)
class WeightOptions:
    """What weighs more or less; the base is 1.

    ``intervention`` multiplies samples in which a person corrects a policy: 2 to 3 is usual.
    ``half_life_days`` halves an episode's weight with each such time before the newest episode; 0
    does not. ``mixture`` gives sources their shares of the whole weight. ``quality`` q weighs an
    episode by its percentile p of smoothness and of speed as 1 - q (1 - p / 100), at least 0.25.
    ``autonomous`` multiplies what the policy did by itself in an episode that needed correction:
    left out as a rule, as in HG-DAgger (M. Kelly et al., 2019) and by docs/experiment.md.
    ``mask_handover`` leaves samples out from the takeover until the executed command follows the
    person: nobody's intention was executed. ``mask_before_s`` leaves out what led to the takeover:
    it teaches the mistake. None takes the window that the recording declares.
    """

    intervention: float = 2.5
    half_life_days: float = 0.0
    mixture: Mapping[str, float] = field(default_factory=dict)
    quality: float = 0.0
    autonomous: float = 0.0
    mask_handover: bool = True
    mask_before_s: float | None = None

    def __post_init__(self) -> None:
        if not (
            self.intervention > 0
            and self.autonomous >= 0
            and 0 <= self.quality <= 1
            and self.half_life_days >= 0
        ):
            raise ManifestError(
                'weights: expected intervention > 0, autonomous >= 0, quality from 0 to 1, '
                f'half-life >= 0, found {self.intervention:g}, {self.autonomous:g}, '
                f'{self.quality:g}, {self.half_life_days:g}'
            )
        if any(share <= 0 or not math.isfinite(share) for share in self.mixture.values()):
            raise ManifestError(f'weights: mixture: expected shares above 0: {dict(self.mixture)}')

    def document(self) -> dict[str, Any]:
        """Return the choices as JSON content."""
        return {**asdict(self), 'mixture': dict(self.mixture)}

    def warnings(self) -> list[str]:
        """Say what is unwise about the choices."""
        if self.intervention <= _MOST_INTERVENTION:
            return []
        return [
            f'interventions weigh {self.intervention:g}, more than {_MOST_INTERVENTION:g}: few '
            'samples of states that the policy itself led to then outweigh the demonstrations, '
            'and the policy forgets what it did well'
        ]


@dataclass(frozen=True)
class Weighed:
    """What weighing one episode needs; percentiles are NaN where unknown."""

    start_ns: int
    source: str
    smoothness_percentile: float = math.nan
    duration_percentile: float = math.nan


def episode_weights(episodes: Sequence[Weighed], options: WeightOptions) -> NDArray[np.float64]:
    """Return the episodes' weights (n,), whose mean is 1."""
    if not episodes:
        return np.empty(0)
    weights = np.ones(len(episodes))
    if options.half_life_days:
        starts = np.array([episode.start_ns for episode in episodes], np.int64)
        weights *= 0.5 ** ((starts.max() - starts) / _DAY_NS / options.half_life_days)
    if options.quality:
        weights *= np.array([_quality(episode, options.quality) for episode in episodes])
    if options.mixture:
        weights *= _mixture([episode.source for episode in episodes], weights, options.mixture)
    return np.asarray(weights / weights.mean())


def sample_weights(episode: Episode, options: WeightOptions) -> NDArray[np.float64]:
    """Return the weight of each of an episode's samples (m,): 1 as a rule, 0 where masked.

    To be multiplied with the episode's own weight.
    """
    weights = np.where(episode.valid, 1.0, 0.0)
    grid = episode.grid_ns
    masked = np.zeros(len(grid), np.bool_)
    if episode.interventions:
        weights[episode.authority < _SHARED] *= options.autonomous
    for entry in episode.interventions:
        end_ns = entry.end_ns if entry.end_ns is not None else int(grid[-1]) + 1
        corrected = (grid >= entry.begin_ns) & (grid < end_ns)
        weights[corrected] = options.intervention * episode.valid[corrected]
        if options.mask_handover and entry.converged_ns is not None:
            masked |= (grid >= entry.begin_ns) & (grid < entry.converged_ns)
        before_ns = (
            entry.pre_window_ns
            if options.mask_before_s is None
            else round(options.mask_before_s * NANOSECONDS)
        )
        masked |= (grid >= entry.begin_ns - before_ns) & (grid < entry.begin_ns)
    weights[masked] = 0.0
    return weights


def normalised(weights: Sequence[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    """Return the weights of many episodes' samples with mean 1 over those that are not masked."""
    every = np.concatenate(weights) if weights else np.empty(0)
    kept = every[every > 0]
    if not len(kept):
        raise ManifestError('weights: expected a sample that is not masked, found none')
    return [values / kept.mean() for values in weights]


def _quality(episode: Weighed, strength: float) -> float:
    known = [
        share
        for share in (episode.smoothness_percentile, 100 - episode.duration_percentile)
        if math.isfinite(share)
    ]
    if not known:
        return 1.0
    return max(1 - strength * (1 - float(np.mean(known)) / 100), _LEAST_QUALITY)


def _mixture(
    sources: Sequence[str], weights: NDArray[np.float64], shares: Mapping[str, float]
) -> NDArray[np.float64]:
    """Return factors that give each source its share of the whole weight."""
    present = Counter(sources)
    if unknown := sorted(set(present) - set(shares)):
        raise ManifestError(f"weights: mixture: expected a share for '{unknown[0]}', found none")
    if absent := sorted(set(shares) - set(present)):
        raise ManifestError(f"weights: mixture: no episode has source '{absent[0]}'")
    labels = np.array(sources, object)
    factors = np.ones(len(sources))
    for source, share in shares.items():
        of = labels == source
        factors[of] = share / float(weights[of].sum())
    return factors


def sampler_weights(
    episodes: Sequence[Episode], weights: Mapping[str, float], options: WeightOptions
) -> NDArray[np.float64]:
    """Return the weights of all samples of episodes, one after another, as a sampler takes them.

    ``weights`` are the episodes' own by content id, such as a manifest's; their mean over samples
    that are not masked is 1. ManifestError names an episode that has none.
    """
    parts = []
    for episode in episodes:
        if episode.id not in weights:
            raise ManifestError(f'weights: expected one for {episode.name}, found none')
        parts.append(sample_weights(episode, options) * weights[episode.id])
    return np.concatenate(normalised(parts))


def options_from(document: Mapping[str, Any]) -> WeightOptions:
    """Return the choices that a manifest states."""
    return WeightOptions(**document)

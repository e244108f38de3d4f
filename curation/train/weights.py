# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How much each sample of an episode is worth to a training run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.manifests.weights import sample_weights, WeightOptions
from curation.train.options import TrainOptions

_SHARED = 0.5  # authority below which the policy drives


def training_weights(episode: Episode, options: TrainOptions) -> NDArray[np.float64]:
    """Return each sample's weight (m,): 1, corrections more, and 0 for what teaches nothing good.

    In an episode that needed correction, what the policy did by itself has a weight of its own.
    """
    weights = sample_weights(episode, weighting_of(options))
    if episode.interventions:
        grid = episode.grid_ns
        corrected = np.zeros(len(grid), np.bool_)
        for entry in episode.interventions:
            end_ns = entry.end_ns if entry.end_ns is not None else int(grid[-1]) + 1
            corrected |= (grid >= entry.begin_ns) & (grid < end_ns)
        weights[(episode.authority < _SHARED) & ~corrected] *= options.autonomous_weight
    return weights


def weighting_of(options: TrainOptions) -> WeightOptions:
    """Return a training run's choices as a manifest states them."""
    return WeightOptions(
        intervention=options.intervention_weight,
        mask_handover=options.mask_handover,
        mask_before_s=None if options.mask_before_takeover else 0.0,
    )

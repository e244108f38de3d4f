# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How much each sample of an episode is worth to training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.train.options import TrainOptions

_SHARED = 0.5  # authority below which the policy drives


def sample_weights(episode: Episode, options: TrainOptions) -> NDArray[np.float64]:
    """Return each sample's weight (m,): 1, corrections more, and 0 for what teaches nothing good.

    In an episode that needed correction, what the policy did by itself has a weight of its own;
    what it did right before a takeover teaches the mistake, and while a handover has not converged
    nobody's intention was executed.
    """
    weights = np.ones(len(episode))
    if episode.interventions:
        weights[episode.authority < _SHARED] = options.autonomous_weight
    grid = episode.grid_ns
    for intervention in episode.interventions:
        end_ns = intervention.end_ns or int(grid[-1])
        corrected = (grid >= intervention.begin_ns) & (grid < end_ns)
        weights[corrected] = options.intervention_weight
        if options.mask_handover and intervention.converged_ns is not None:
            weights[corrected & (grid < intervention.converged_ns)] = 0.0
        if options.mask_before_takeover:
            onset = intervention.begin_ns - intervention.pre_window_ns
            weights[(grid >= onset) & (grid < intervention.begin_ns)] = 0.0
    return weights

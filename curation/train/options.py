# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a training run may choose; two runs with the same options and episodes agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from curation.manifests.weights import WeightOptions
from teleop_bridge.clock import NANOSECONDS


@dataclass(frozen=True)
class TrainOptions:
    """Behaviour cloning with action chunks.

    ``inputs`` are signals of the rig by stream name, beside the measured joints. A chunk holds
    ``steps`` actions at ``rate``; of each, the policy executes ``executed`` before it looks again.
    """

    inputs: tuple[str, ...] = ('cube', 'load')
    camera: str = ''                # one that it looks through, none where empty
    image_width: int = 40           # pixels, about
    rate: Fraction = Fraction(20)
    steps: int = 16
    executed: int = 8
    hidden: int = 256
    layers: int = 3
    noise: float = 0.08             # of normalised inputs, so that small deviations are corrected
    epochs: int = 60
    batch: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    seed: int = 0
    weights: WeightOptions = field(default_factory=WeightOptions)

    @property
    def step_ns(self) -> int:
        """Time between two actions of a chunk."""
        return round(NANOSECONDS / self.rate)

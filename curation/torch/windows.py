# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Which samples a training window takes: past observations, future actions, padding marked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class WindowOptions:
    """``observations`` samples up to and with the present one, ``actions`` from it on.

    ``stride`` is the number of samples from one observation to the next. Samples of corrections
    weigh ``intervention_weight`` in the sampler, 0 leaves them out; None takes the weights that
    an export or the weighting of bags states.
    """

    observations: int = 1
    actions: int = 16
    stride: int = 1
    intervention_weight: float | None = None

    def __post_init__(self) -> None:
        sizes = (self.observations, self.actions, self.stride)
        if min(sizes) < 1 or (self.intervention_weight or 0) < 0:
            raise ValueError(f'windows need positive sizes and no negative weight: {self}')

    def past(self, i: int) -> tuple[Indices, Flags]:
        """Return the observations' indices at sample ``i``, oldest first, and which are padding.

        Before an episode's start its first sample is repeated.
        """
        wanted = i - self.stride * np.arange(self.observations - 1, -1, -1, dtype=np.int64)
        return np.maximum(wanted, 0), wanted < 0

    def future(self, i: int, length: int) -> tuple[Indices, Flags]:
        """Return the actions' indices at sample ``i`` and which are padding.

        After an episode's end its last sample is repeated.
        """
        wanted = i + np.arange(self.actions, dtype=np.int64)
        return np.minimum(wanted, length - 1), wanted >= length

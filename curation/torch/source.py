# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a loader needs of recorded episodes, wherever they lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

STATE = 'observation.state'
ACTION = 'action'
INTERVENTION = 'intervention'
WEIGHT = 'sample_weight'
VALID = 'valid'


class EpisodeSource(Protocol):
    """Episodes by number. An object can be pickled, and is used by one thread at a time."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Return the number of samples of each episode, (E,)."""

    @property
    def cameras(self) -> tuple[str, ...]:
        """Return the cameras that every episode has."""

    def numbers(self, episode: int) -> Mapping[str, NDArray[Any]]:
        """Return an episode's columns by name: STATE, ACTION and INTERVENTION at least.

        VALID is False at samples that no window may start from; absent, all are valid. WEIGHT is
        each sample's in the sampler; absent, all weigh 1.
        """

    def frame(self, episode: int, camera: str, i: int) -> NDArray[np.uint8]:
        """Return the image at a sample, (h, w, 3) RGB."""

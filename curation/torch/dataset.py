# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch dataset of windows, and the sampler that draws them by weight and seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from curation.exceptions import ExportError
from curation.torch.source import (
    ACTION,
    EpisodeSource,
    INTERVENTION,
    STATE,
    VALID,
    WEIGHT,
)
from curation.torch.windows import WindowOptions
from teleop_bridge.exceptions import MissingDependencyError

try:
    import torch
    from torch.utils.data import Dataset, Sampler
except ImportError as error:
    raise MissingDependencyError('the loader needs PyTorch: pip install torch') from error

_DEFAULT = WindowOptions()


class WindowDataset(Dataset[dict[str, torch.Tensor]]):
    """Every sample of every episode, as the present of a window.

    An item holds ``observation.state`` (o, n) float32, ``observation.images.NAME`` (o, 3, h, w)
    uint8, ``action`` (a, n) float32, ``observation_is_pad`` (o,) and ``action_is_pad`` (a,) bool,
    ``episode_index`` and ``sample_index``. Workers may be forked or spawned.
    """

    def __init__(self, source: EpisodeSource, options: WindowOptions = _DEFAULT) -> None:
        self.source = source
        self.options = options
        self._ends = np.cumsum(source.lengths)
        if not len(self):
            raise ExportError('expected episodes to train on, found none')

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        episode = int(np.searchsorted(self._ends, index, side='right'))
        length = int(self.source.lengths[episode])
        i = index - int(self._ends[episode]) + length
        past, past_pad = self.options.past(i)
        future, future_pad = self.options.future(i, length)
        numbers = self.source.numbers(episode)
        item = {
            STATE: torch.from_numpy(np.asarray(numbers[STATE], np.float32)[past]),
            ACTION: torch.from_numpy(np.asarray(numbers[ACTION], np.float32)[future]),
            'observation_is_pad': torch.from_numpy(past_pad),
            'action_is_pad': torch.from_numpy(future_pad),
            'episode_index': torch.tensor(episode),
            'sample_index': torch.tensor(i),
        }
        for camera in self.source.cameras:
            item[f'observation.images.{camera}'] = self._images(episode, camera, past)
        return item

    def weights(self) -> NDArray[np.float64]:
        """Return every sample's weight: 0 where masked, more or less in corrections."""
        parts = []
        for episode in range(len(self.source.lengths)):
            numbers = self.source.numbers(episode)
            corrected = np.asarray(numbers[INTERVENTION], np.bool_)
            if self.options.intervention_weight is None:
                weight = np.asarray(numbers.get(WEIGHT, np.ones(len(corrected))), np.float64)
            else:
                weight = np.where(corrected, self.options.intervention_weight, 1.0)
            parts.append(weight * numbers.get(VALID, True))
        return np.concatenate(parts)

    def _images(self, episode: int, camera: str, past: NDArray[np.int64]) -> torch.Tensor:
        """Return (o, 3, h, w) uint8; a frame that padding repeats is decoded once."""
        distinct = {
            int(i): cv2.split(self.source.frame(episode, camera, int(i)))
            for i in np.unique(past)
        }
        return torch.from_numpy(np.stack([distinct[int(i)] for i in past]))


class WindowSampler(Sampler[int]):
    """Draws windows by weight: the same under one seed and epoch, other ones in each epoch.

    With equal weights each valid window comes once an epoch, else they are drawn with
    replacement. Call ``set_epoch`` before each epoch.
    """

    def __init__(self, weights: NDArray[np.float64], *, seed: int) -> None:
        self._weights = weights
        self._valid = np.flatnonzero(weights)
        if not len(self._valid):
            raise ExportError('expected windows with a weight above 0, found none')
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order comes next."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._valid)

    def __iter__(self) -> Iterator[Any]:
        generator = np.random.default_rng((self._seed, self._epoch))
        used = self._weights[self._valid]
        if np.ptp(used) == 0:
            return iter(generator.permutation(self._valid).tolist())
        drawn = generator.choice(self._valid, len(self._valid), p=used / used.sum())
        return iter(drawn.tolist())

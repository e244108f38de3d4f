# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Training straight from bags: aligned when they are opened, images decoded when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.align.load import load_episodes
from curation.align.options import AlignOptions, DEFAULT
from curation.exceptions import ExportError
from curation.export.action import action_of, ActionSource
from curation.export.images import Shape
from curation.manifests.weights import sample_weights, WeightOptions
from curation.torch.cache import ProcessCache
from curation.torch.source import ACTION, INTERVENTION, STATE, VALID, WEIGHT
from teleop_bridge.rig.schema import Rig

WHOLE = Shape()
WEIGHTING = WeightOptions()
UNWEIGHED: Mapping[str, float] = MappingProxyType({})


class BagSource:
    """Bags as episodes. Their numbers stay in memory; at most ``open_bags`` are read at a time.

    ``weights`` are episodes' own, such as a manifest's, by content id. Raises FlywheelError as
    reading and aligning do, ExportError where cameras differ.
    """

    def __init__(
        self,
        bags: Sequence[Path],
        rig: Rig | None = None,
        options: AlignOptions = DEFAULT,
        *,
        shape: Shape = WHOLE,
        action: ActionSource = ActionSource.EXECUTED,
        weighting: WeightOptions = WEIGHTING,
        weights: Mapping[str, float] = UNWEIGHED,
        open_bags: int = 16,
    ) -> None:
        self._rig = rig
        self._options = options
        self._shape = shape
        self._places: list[tuple[Path, int]] = []
        self._numbers: list[Mapping[str, NDArray[Any]]] = []
        self._open: ProcessCache[Path, list[Episode]] = ProcessCache(open_bags, _close)
        cameras: dict[tuple[str, ...], str] = {}
        for bag in bags:
            for part, episode in enumerate(load_episodes(bag, rig, options)):
                self._places.append((bag, part))
                self._numbers.append(_numbers(
                    episode, action, weighting, weights.get(episode.id, 1.0)))
                cameras.setdefault(episode.cameras, episode.name)
        if len(cameras) != 1:
            raise ExportError(f'expected bags with the same cameras, found {cameras or "no bag"}')
        self.cameras = next(iter(cameras))
        self.lengths = np.array([len(numbers[STATE]) for numbers in self._numbers], np.int64)

    def numbers(self, episode: int) -> Mapping[str, NDArray[Any]]:
        """Return an episode's columns."""
        return self._numbers[episode]

    def frame(self, episode: int, camera: str, i: int) -> NDArray[np.uint8]:
        """Return the image at a sample, (h, w, 3) RGB, decoded from its bag."""
        bag, part = self._places[episode]
        parts = self._open.get(bag, lambda: load_episodes(bag, self._rig, self._options))
        image = np.asarray(parts[part].frame(camera, i), np.uint8)
        return self._shape.apply(image, f'{bag}: camera {camera}')


def _numbers(
    episode: Episode, action: ActionSource, weighting: WeightOptions, weight: float
) -> dict[str, NDArray[Any]]:
    return {
        STATE: episode.state.astype(np.float32),
        ACTION: action_of(episode, action).astype(np.float32),
        INTERVENTION: np.array([bool(name) for name in episode.intervention_id]),
        VALID: episode.valid,
        WEIGHT: weight * sample_weights(episode, weighting),
    }


def _close(episodes: list[Episode]) -> None:
    for source in {id(s): s for e in episodes for s in e.frames.values()}.values():
        close = getattr(source, 'close', None)
        if close is not None:
            close()

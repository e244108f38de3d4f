# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Training examples from aligned episodes: inputs, action chunks, masks and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.exceptions import StreamError
from curation.manifests.weights import sample_weights
from curation.train.images import Images, images_of
from curation.train.options import TrainOptions
from teleop_bridge.policy.onnx import STATE

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Examples:
    """N examples; ``inputs`` by name (N, d), ``chunks`` (N, steps, n) joint positions.

    ``within`` (N, steps) is False beyond an episode's end, where chunks repeat its last action.
    ``weights`` (N,) are 0 where an example is masked. ``episode`` (N,) counts episodes.
    ``images`` are a camera's, N frames, where one was asked for.
    """

    inputs: Mapping[str, Values]
    names: Mapping[str, tuple[str, ...]]
    chunks: Values
    within: NDArray[np.bool_]
    weights: Values
    episode: NDArray[np.int64]
    images: Images | None = None

    def __len__(self) -> int:
        return len(self.weights)


def examples_of(
    episodes: Sequence[Episode],
    options: TrainOptions,
    episode_weights: Mapping[str, float] | None = None,
) -> Examples:
    """Make examples of every grid time of the episodes, which must be of one rig.

    ``episode_weights`` are a manifest's, by content id; without them every episode has 1.

    Raises StreamError where an episode has no executed action or lacks an input.
    """
    if not episodes:
        raise StreamError('training: expected at least one episode, found none')
    parts = [_of_one(episode, options) for episode in episodes]
    first = episodes[0]
    names = {name: first.signals[name].names for name in options.inputs}
    names[STATE] = first.rig.joint_names
    for episode in episodes[1:]:
        if episode.rig.joint_names != first.rig.joint_names:
            raise StreamError(
                f'{episode.name}: expected the joints {", ".join(first.rig.joint_names)}'
                f' as in {first.name}, found {", ".join(episode.rig.joint_names)}'
            )
    return Examples(
        inputs={key: np.concatenate([part[0][key] for part in parts]) for key in names},
        names=names,
        chunks=np.concatenate([part[1] for part in parts]),
        within=np.concatenate([part[2] for part in parts]),
        weights=np.concatenate([
            part[3] * (episode_weights or {}).get(episode.id, 1.0)
            for part, episode in zip(parts, episodes, strict=True)
        ]),
        episode=np.repeat(np.arange(len(parts)), [len(part[3]) for part in parts]),
        images=_joined([part[4] for part in parts]),
    )


def _of_one(
    episode: Episode, options: TrainOptions
) -> tuple[dict[str, Values], Values, NDArray[np.bool_], Values, Images | None]:
    inputs = inputs_of(episode, options.inputs)
    if episode.action is None:
        raise StreamError(f'{episode.name}: its rig declares no executed action to learn from')
    # The action paired with the next grid time is where the arm is sent during this step.
    ahead = np.arange(len(episode))[:, None] + np.arange(1, options.steps + 1)
    within = ahead < len(episode)
    chunks = episode.action[np.minimum(ahead, len(episode) - 1)]
    weights = sample_weights(episode, options.weights)
    usable = np.all(np.isfinite(chunks), axis=(1, 2)) & episode.valid
    for values in inputs.values():
        usable &= np.all(np.isfinite(values), axis=1)
    images = None
    if options.camera:
        rows = np.flatnonzero(usable)
        images = images_of(episode, options.camera, rows, width=options.image_width)
    return (
        {name: values[usable] for name, values in inputs.items()},
        chunks[usable],
        within[usable],
        weights[usable],
        images,
    )


def _joined(parts: Sequence[Images | None]) -> Images | None:
    seen = [part for part in parts if part is not None]
    if not seen:
        return None
    if len({part.full_size for part in seen}) > 1:
        raise StreamError(f"training: '{seen[0].stream}' has frames of several sizes")
    return Images(seen[0].stream, np.concatenate([part.pixels for part in seen]), seen[0].pool)


def inputs_of(episode: Episode, names: Sequence[str]) -> dict[str, Values]:
    """Return the inputs (m, d) by name, the measured joints among them; StreamError if missing."""
    inputs = {STATE: episode.state}
    for name in names:
        if name not in episode.signals:
            known = ', '.join(episode.signals)
            raise StreamError(f"{episode.name}: no signal '{name}' to look at (known: {known})")
        inputs[name] = episode.signals[name].values
    return inputs

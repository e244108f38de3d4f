# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Behaviour cloning on the CPU: from inputs to an action chunk (torch)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.train.examples import Examples
from curation.train.network import Layer, layers_of, make_network
from curation.train.options import TrainOptions
from curation.train.scaling import Scaling
from teleop_bridge.exceptions import MissingDependencyError
from teleop_bridge.policy.onnx import STATE

_HELD_OUT = 0.1           # of the episodes, to report the loss on


@dataclass(frozen=True)
class Fitted:
    """A trained network: the layers of its perceptron and of its eye, with ReLU between them.

    ``order`` is how vectors are concatenated, what the eye sees comes after them; losses are mean
    squared errors of normalised actions.
    """

    order: tuple[str, ...]
    inputs: dict[str, Scaling]
    output: Scaling
    layers: tuple[Layer, ...]
    train_loss: float
    held_out_loss: float
    eye: tuple[Layer, ...] = ()
    image: Scaling | None = None   # of each colour


def fit(
    examples: Examples,
    options: TrainOptions,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Fitted:
    """Train; the same examples and options give the same network on one machine.

    Raises MissingDependencyError without torch.
    """
    torch = _torch()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # sums in one order; a network this small gains nothing from more
    order = tuple(examples.inputs)
    scalings = {name: Scaling.of(values) for name, values in examples.inputs.items()}
    relative = examples.chunks - examples.inputs[STATE][:, None]
    output = Scaling.of(relative)
    features = np.concatenate([scalings[n].normalise(examples.inputs[n]) for n in order], axis=1)
    x = torch.from_numpy(features)
    y = torch.from_numpy(output.normalise(relative).reshape(len(examples), -1))
    weights = torch.from_numpy(
        (examples.weights[:, None, None] * examples.within[:, :, None])
        .repeat(relative.shape[-1], axis=2)
        .reshape(len(examples), -1)
        .astype(np.float32)
    )
    held_out = torch.from_numpy(_held_out(examples, options.seed))
    image = _image_scaling(examples)
    see = _looker(torch, examples, image)
    shape = None if examples.images is None else examples.images.pixels.shape[1:]
    network = make_network(torch, x.shape[1], y.shape[1], options, shape)
    kept = torch.nonzero(~held_out).flatten()
    left = torch.nonzero(held_out).flatten()
    train_loss = _train(torch, network, (x, y, weights, see), kept, options, advance)
    with torch.no_grad():
        found = network(x[left], see(left))
        held_out_loss = float(_loss(found, y[left], weights[left]))
    eye, layers = layers_of(torch, network)
    return Fitted(order, scalings, output, layers, train_loss, held_out_loss, eye, image)


def _image_scaling(examples: Examples) -> Scaling | None:
    if examples.images is None:
        return None
    return Scaling.of(examples.images.pixels.transpose(0, 2, 3, 1).astype(np.float64))


def _looker(torch: Any, examples: Examples, scaling: Scaling | None) -> Callable[[Any], Any]:
    """Return what gives the normalised images of some examples; None where there are none."""
    if examples.images is None or scaling is None:
        return lambda rows: None
    pixels = torch.from_numpy(examples.images.pixels)
    mean, std = (torch.from_numpy(v).reshape(3, 1, 1) for v in (scaling.mean, scaling.std))
    return lambda rows: (pixels[rows].float() - mean) / std


def _train(
    torch: Any,
    network: Any,
    data: tuple[Any, Any, Any, Callable[[Any], Any]],
    kept: Any,
    options: TrainOptions,
    advance: Callable[[int, int], None],
) -> float:
    x, y, weights, see = data
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=options.learning_rate, weight_decay=options.weight_decay
    )
    batches = max(1, len(kept) // options.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, options.learning_rate, total_steps=options.epochs * batches
    )
    loss_of_epoch = float('nan')
    for epoch in range(options.epochs):
        shuffled = kept[torch.randperm(len(kept))]
        losses = []
        for part in torch.tensor_split(shuffled, batches):
            noisy = x[part] + options.noise * torch.randn_like(x[part])
            loss = _loss(network(noisy, see(part)), y[part], weights[part])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
        loss_of_epoch = float(np.mean(losses))
        advance(epoch + 1, options.epochs)
    return loss_of_epoch


def _loss(found: Any, wanted: Any, weights: Any) -> Any:
    return (weights * (found - wanted) ** 2).sum() / weights.sum().clamp(min=1.0)


def _held_out(examples: Examples, seed: int) -> NDArray[np.bool_]:
    """Choose whole episodes: neighbouring samples of one episode are nearly the same."""
    count = int(examples.episode.max()) + 1
    chosen = np.random.default_rng(seed).permutation(count)[: max(1, int(_HELD_OUT * count))]
    return np.isin(examples.episode, chosen) if count > 1 else np.zeros(len(examples), bool)


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingDependencyError('training needs pip install torch') from error
    return torch

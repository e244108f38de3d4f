# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Behaviour cloning on the CPU: a multilayer perceptron from inputs to an action chunk (torch)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.train.examples import Examples
from curation.train.options import TrainOptions
from curation.train.scaling import Scaling
from teleop_bridge.exceptions import MissingDependencyError
from teleop_bridge.policy.onnx import STATE

_HELD_OUT = 0.1           # of the episodes, to report the loss on

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True)
class Fitted:
    """A trained network: its layers (weight (out, in), bias (out,)), with ReLU between them.

    ``order`` is how inputs are concatenated; losses are mean squared errors of normalised actions.
    """

    order: tuple[str, ...]
    inputs: dict[str, Scaling]
    output: Scaling
    layers: tuple[Layer, ...]
    train_loss: float
    held_out_loss: float


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
    network = _network(torch, x.shape[1], y.shape[1], options)
    train_loss = _train(torch, network, x, y, weights, ~held_out, options, advance)
    with torch.no_grad():
        held_out_loss = float(_loss(network(x[held_out]), y[held_out], weights[held_out]))
    return Fitted(order, scalings, output, _layers(torch, network), train_loss, held_out_loss)


def _train(
    torch: Any,
    network: Any,
    x: Any,
    y: Any,
    weights: Any,
    chosen: Any,
    options: TrainOptions,
    advance: Callable[[int, int], None],
) -> float:
    x, y, weights = x[chosen], y[chosen], weights[chosen]
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=options.learning_rate, weight_decay=options.weight_decay
    )
    batches = max(1, len(x) // options.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, options.learning_rate, total_steps=options.epochs * batches
    )
    loss_of_epoch = float('nan')
    for epoch in range(options.epochs):
        shuffled = torch.randperm(len(x))
        losses = []
        for part in torch.tensor_split(shuffled, batches):
            noisy = x[part] + options.noise * torch.randn_like(x[part])
            loss = _loss(network(noisy), y[part], weights[part])
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


def _network(torch: Any, width_in: int, width_out: int, options: TrainOptions) -> Any:
    widths = [width_in, *[options.hidden] * options.layers]
    modules: list[Any] = []
    for before, after in zip(widths, widths[1:], strict=False):
        modules += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    return torch.nn.Sequential(*modules, torch.nn.Linear(widths[-1], width_out))


def _layers(torch: Any, network: Any) -> tuple[Layer, ...]:
    linear = [module for module in network if isinstance(module, torch.nn.Linear)]
    return tuple(
        (module.weight.detach().numpy().copy(), module.bias.detach().numpy().copy())
        for module in linear
    )


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

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The network that is trained: an optional small eye, then a multilayer perceptron (torch)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.train.options import TrainOptions

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]  # weight and bias


@dataclass(frozen=True)
class Convolution:
    """One layer of the eye: kernels of ``size`` squared, stride 2, half padding, then ReLU."""

    channels: int
    size: int


EYE = (Convolution(16, 5), Convolution(32, 3), Convolution(32, 3))
STRIDE = 2


def make_network(
    torch: Any, width_in: int, width_out: int, options: TrainOptions, image: tuple[int, ...] | None
) -> Any:
    """Make it for vectors (b, width_in) and, where ``image`` is (3, height, width), images."""

    class Network(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.eye = _eye(torch) if image else None
            seen = self.eye(torch.zeros(1, *image)).numel() if self.eye and image else 0
            widths = [width_in + seen, *[options.hidden] * options.layers]
            modules: list[Any] = []
            for before, after in zip(widths, widths[1:], strict=False):
                modules += [torch.nn.Linear(before, after), torch.nn.ReLU()]
            self.head = torch.nn.Sequential(*modules, torch.nn.Linear(widths[-1], width_out))

        def forward(self, vectors: Any, images: Any) -> Any:
            if self.eye is not None:
                vectors = torch.cat([vectors, self.eye(images)], dim=1)
            return self.head(vectors)

    return Network()


def layers_of(torch: Any, network: Any) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    """Return the weights of the eye, empty where there is none, and of the perceptron."""

    def weights(modules: Any, kind: Any) -> tuple[Layer, ...]:
        return tuple(
            (module.weight.detach().numpy().copy(), module.bias.detach().numpy().copy())
            for module in modules or ()
            if isinstance(module, kind)
        )

    return weights(network.eye, torch.nn.Conv2d), weights(network.head, torch.nn.Linear)


def _eye(torch: Any) -> Any:
    modules: list[Any] = []
    before = 3
    for layer in EYE:
        padding = layer.size // 2
        modules += [
            torch.nn.Conv2d(before, layer.channels, layer.size, STRIDE, padding),
            torch.nn.ReLU(),
        ]
        before = layer.channels
    return torch.nn.Sequential(*modules, torch.nn.Flatten())

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a checkpoint says of itself: its inputs, its output, how both are normalised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.policy.base import PolicyError

METADATA_KEY = 'flywheel'  # of the ONNX file's metadata_props
STATE = 'state'            # the input that is the follower's measured joints


@dataclass(frozen=True)
class Scaling:
    """Normalisation of a vector: (value - mean) / std, in the stream's own units."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def normalise(self, values: NDArray[np.float64]) -> NDArray[np.float32]:
        """Return values (..., d) as the network sees them."""
        scaled = (values - np.array(self.mean)) / np.array(self.std)
        return np.asarray(scaled, np.float32)

    def restore(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what the network gives, (..., d), in the stream's units."""
        return np.asarray(values * np.array(self.std) + np.array(self.mean), np.float64)


@dataclass(frozen=True)
class InputSpec:
    """One ONNX input, (1, d) float32: a vector of one of the rig's streams, or ``state``."""

    stream: str
    names: tuple[str, ...]  # of its columns
    scaling: Scaling


@dataclass(frozen=True)
class CheckpointSpec:
    """The checkpoint's own description; times in ns.

    The ONNX output ``action`` is (1, steps, n): joint positions at ``step_ns``, 2 ``step_ns``, …
    after the observation, normalised; ``relative`` ones are added to the measured joints.
    """

    inputs: Mapping[str, InputSpec]
    joints: tuple[str, ...]
    scaling: Scaling
    steps: int
    step_ns: int
    period_ns: int           # how often it wants to be asked
    relative: bool = True
    manifest: str = ''       # hash of the episodes that it was trained on
    episodes: int = 0
    seed: int = 0

    def to_json(self) -> str:
        """Return it as it goes into the ONNX file."""
        return json.dumps(asdict(self), sort_keys=True)


def parse_spec(text: str, where: str) -> CheckpointSpec:
    """Read a description; PolicyError names the file and the key that is missing or wrong."""
    try:
        tree = json.loads(text)
        inputs = {
            name: InputSpec(
                str(entry['stream']), tuple(entry['names']), _scaling(entry, len(entry['names']))
            )
            for name, entry in tree['inputs'].items()
        }
        joints = tuple(str(joint) for joint in tree['joints'])
        return CheckpointSpec(
            inputs,
            joints,
            _scaling(tree, len(joints)),
            steps=int(tree['steps']),
            step_ns=int(tree['step_ns']),
            period_ns=int(tree['period_ns']),
            relative=bool(tree['relative']),
            manifest=str(tree['manifest']),
            episodes=int(tree['episodes']),
            seed=int(tree['seed']),
        )
    except KeyError as error:
        raise PolicyError(f'{where}: its description lacks {error}') from error
    except (ValueError, TypeError, AttributeError) as error:
        raise PolicyError(f'{where}: its description is broken: {error}') from error


def _scaling(entry: Mapping[str, Any], size: int) -> Scaling:
    scaling = entry['scaling']
    mean, std = (tuple(float(value) for value in scaling[key]) for key in ('mean', 'std'))
    if len(mean) != size or len(std) != size:
        raise ValueError(f'normalisation of {len(mean)} and {len(std)} values for {size}')
    if not all(map(math.isfinite, mean)) or not all(value > 0 for value in std):
        raise ValueError('normalisation that is not finite, or a std that is not positive')
    return Scaling(mean, std)

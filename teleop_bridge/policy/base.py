# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a policy sees and proposes, whatever it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import importlib
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.joints import JointSample
from teleop_bridge.rig.schema import Rig


class PolicyError(FlywheelError):
    """A policy can't be loaded, doesn't fit the rig, or proposed what no follower can take."""


@dataclass(frozen=True)
class Observation:
    """What the policy may look at.

    ``values`` by stream name: images (height, width, 3) uint8 RGB, vectors (d,) float64.
    ``stamps_ns`` holds each one's capture time.
    """

    stamp_ns: int
    state: JointSample
    values: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    stamps_ns: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ActionChunk:
    """Proposed positions in the rig's joint order: ``times_ns`` (k,), ``positions`` (k, n).

    Times increase and are session times at which the positions should be reached.
    ``confidence`` is the policy's own, 0 to 1, None where it has none.
    """

    times_ns: NDArray[np.int64]
    positions: NDArray[np.float64]
    confidence: float | None = None


class Policy(Protocol):
    """Proposes actions from observations; keeps its own history between calls."""

    inputs: tuple[str, ...]  # streams that it needs beside the state, by the rig's names
    checkpoint: str  # hash of what it was loaded from, as bags and catalogs name it
    period_ns: int  # how often it wants to be asked

    def reset(self) -> None:
        """Forget the episode."""

    def propose(self, observation: Observation) -> ActionChunk | None:
        """Propose what to do next; None to propose nothing."""


def load_policy(plugin: str, rig: Rig, checkpoint: str = '') -> Policy:
    """Load ``module:Class`` and make it for this rig: ``Class(rig, checkpoint)``.

    Raises PolicyError where there is no such class.
    """
    module, _, name = plugin.partition(':')
    try:
        factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise PolicyError(f"policy '{plugin}': expected module:Class ({error})") from error
    policy: Policy = factory(rig, checkpoint)
    return policy


def check_chunk(chunk: ActionChunk, rig: Rig) -> None:
    """Check shapes, order of times and finite values; raises PolicyError, naming the joint."""
    names = rig.joint_names
    if chunk.positions.shape != (len(chunk.times_ns), len(names)) or not len(chunk.times_ns):
        raise PolicyError(
            f'the policy proposed positions of shape {chunk.positions.shape} for '
            f'{len(chunk.times_ns)} times and {len(names)} joints'
        )
    if np.any(np.diff(chunk.times_ns) <= 0):
        raise PolicyError('the policy proposed times that do not increase')
    bad = np.argwhere(~np.isfinite(chunk.positions))
    if len(bad):
        raise PolicyError(
            f"the policy proposed a value that is not finite for '{names[bad[0][1]]}'"
        )

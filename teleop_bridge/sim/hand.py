# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How a person's hand moves: minimum-jerk reaches, corrections on the way, tremor."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_TREMOR_HZ = (8.0, 12.0)
_TREMOR_TONES = 3


def minimum_jerk(share: float) -> float:
    """Return the share of the way at a share of the time, both 0 to 1.

    The fifth-order polynomial of Flash and Hogan (1985), eq. 5: rest to rest with least jerk.
    """
    t = min(max(share, 0.0), 1.0)
    return t * t * t * (10 - 15 * t + 6 * t * t)


def submovement_path(share: float, parts: int) -> tuple[float, float]:
    """Return how far a reach of several minimum-jerk parts has come, and its detour now.

    Both 0 to 1 at a share of the time; the detour is 0 at each part's ends, 1 in its middle.
    """
    at = min(max(share, 0.0), 1.0) * parts
    part = min(math.floor(at), parts - 1)
    within = at - part
    return (part + minimum_jerk(within)) / parts, math.sin(math.pi * within) ** 2


class Tremor:
    """Physiological tremor: a few tones of 8 to 12 Hz per joint, a function of time alone."""

    def __init__(self, joints: int, amplitude: float, rng: np.random.Generator) -> None:
        shape = (_TREMOR_TONES, joints)
        self._omega = 2 * math.pi * rng.uniform(*_TREMOR_HZ, shape)
        self._phase = rng.uniform(0, 2 * math.pi, shape)
        self._amplitude = amplitude * rng.uniform(0.5, 1.0, shape) / math.sqrt(_TREMOR_TONES)

    def at(self, now_ns: int) -> NDArray[np.float64]:
        """Return the offset of each joint, rad."""
        waves = np.sin(self._omega * (now_ns * 1e-9) + self._phase)
        return np.asarray((self._amplitude * waves).sum(axis=0))

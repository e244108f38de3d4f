# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Where people lay the cube on the mat: anywhere, or where it is comfortable."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from teleop_bridge.sim.scene import CUBE_AZIMUTH, CUBE_RADIUS, SHOULDER_XY

_EASY_RADIUS, _EASY_AZIMUTH = 0.18, -0.2   # m, rad: in front of the arm, half way out
_CHOICES = 6                               # spots that a person considers


@dataclass(frozen=True)
class Place:
    """Where the cube lies: x, y in the base frame, m, and its direction, rad."""

    xy: tuple[float, float]
    yaw: float

    @property
    def effort(self) -> float:
        """How far from the comfortable spot it is, 0 for the easiest, about 1 for the hardest."""
        dx, dy = self.xy[0] - SHOULDER_XY[0], self.xy[1] - SHOULDER_XY[1]
        radius, azimuth = math.hypot(dx, dy), math.atan2(dy, dx)
        out = (radius - _EASY_RADIUS) / (CUBE_RADIUS[1] - CUBE_RADIUS[0])
        aside = (azimuth - _EASY_AZIMUTH) / (CUBE_AZIMUTH[1] - CUBE_AZIMUTH[0])
        return math.hypot(out, aside, 0.5 * self.yaw / (math.pi / 4)) / 1.2


def draw_place(rng: np.random.Generator, *, comfort_bias: float = 0.0) -> Place:
    """Draw a place, uniform over the reachable mat, or with this probability an easy one."""
    places = [_uniform(rng) for _ in range(_CHOICES)]
    if rng.random() < comfort_bias:
        return min(places, key=lambda place: place.effort)
    return places[0]


def _uniform(rng: np.random.Generator) -> Place:
    radius = math.sqrt(rng.uniform(CUBE_RADIUS[0] ** 2, CUBE_RADIUS[1] ** 2))
    azimuth = rng.uniform(*CUBE_AZIMUTH)
    xy = (
        SHOULDER_XY[0] + radius * math.cos(azimuth),
        SHOULDER_XY[1] + radius * math.sin(azimuth),
    )
    return Place(xy, rng.uniform(-math.pi / 4, math.pi / 4))

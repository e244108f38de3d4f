# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a command may be: inside the joints' limits and near the measurement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.rig.schema import Rig

Vector = NDArray[np.float64]
_FAR = 1e6  # rad or m: stands for joints without position limits


class Limiter:
    """Turns wanted positions into ones that a follower can execute; all arrays have shape (n,).

    A goal that moves within the limits is followed exactly. What separates the command from it is
    closed no faster than can still be braked before it is reached, a position limit is approached
    no faster either, and the velocity changes by no more than the acceleration limit allows.
    """

    def __init__(self, rig: Rig) -> None:
        self._lower = np.array([joint.lower for joint in rig.joints])
        self._upper = np.array([joint.upper for joint in rig.joints])
        self._velocity = np.array([joint.velocity for joint in rig.joints])
        self._acceleration = np.array([joint.acceleration for joint in rig.joints])
        self._braking = np.isfinite(self._acceleration)
        self._finite = np.where(self._braking, self._acceleration, 1.0)
        self._max_lead = rig.follower.max_lead
        self._positions = np.full(len(rig.joints), np.nan)
        self._rate = np.zeros(len(rig.joints))
        self._goal = self._positions

    @property
    def positions(self) -> Vector:
        """Return the last command; NaN before ``seed``."""
        return self._positions

    @property
    def rate(self) -> Vector:
        """Return the last command's velocity, per second."""
        return self._rate

    def seed(self, positions: Vector) -> None:
        """Start at rest at ``positions``, brought inside the position limits."""
        self._positions = np.clip(positions, self._lower, self._upper)
        self._goal = self._positions
        self._rate = np.zeros_like(self._rate)

    def step(
        self,
        wanted: Vector,
        dt_s: float,
        *,
        measured: Vector | None = None,
        max_velocity: float = np.inf,
    ) -> Vector:
        """Move one control period towards ``wanted`` and return the command.

        ``measured`` bounds how far the command may lead the follower; ``max_velocity``, per
        second, lowers every joint's velocity limit, as at start-up.
        """
        goal = _within(wanted, self._lower, self._upper)
        if measured is not None:
            goal = _within(goal, measured - self._max_lead, measured + self._max_lead)
        bound = np.minimum(self._velocity, max_velocity)
        goal_rate = (goal - self._goal) / dt_s
        goal_rate[np.abs(goal_rate) > bound] = 0.0  # a jump of the goal, not a motion to follow
        self._goal = goal
        error = goal - self._positions - goal_rate * dt_s
        distance = np.abs(error)
        closing, below, above = self._brakeable(
            np.array([distance, self._positions - self._lower, self._upper - self._positions]),
            dt_s,
        )
        closing = np.minimum(distance / dt_s, closing)
        rate = _within(goal_rate + np.sign(error) * closing, -bound, bound)
        return self._advance(_within(rate, -below, above), dt_s)

    def brake(self, dt_s: float) -> Vector:
        """Come to rest as fast as the acceleration limit allows and return the command."""
        self._goal = self._positions
        return self._advance(np.zeros_like(self._rate), dt_s)

    def _advance(self, rate: Vector, dt_s: float) -> Vector:
        change = self._acceleration * dt_s
        rate = _within(rate, self._rate - change, self._rate + change)
        positions = _within(self._positions + rate * dt_s, self._lower, self._upper)
        self._rate = (positions - self._positions) / dt_s
        self._positions = positions
        return positions

    def _brakeable(self, distance: Vector, dt_s: float) -> Vector:
        """Return the greatest speed from which braking in whole periods ends within ``distance``.

        ``distance`` is (…, n).

        From (n + f) a dt, with n whole and 0 <= f < 1, the steps until rest cover
        (n + 1) (n / 2 + f) a dt^2; solved for n + f.
        """
        step = self._finite * dt_s
        units = _within(distance, 0.0, _FAR) / (step * dt_s)
        n = np.floor((np.sqrt(1 + 8 * units) - 1) / 2)
        speed = (n / 2 + units / (n + 1)) * step
        return np.where(self._braking, speed, np.inf)


def _within(values: Vector, lower: Vector | float, upper: Vector | float) -> Vector:
    """Clip; several times cheaper than np.clip for arrays of a few joints."""
    return np.minimum(np.maximum(values, lower), upper)

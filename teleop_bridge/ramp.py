# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Authority's way between policy (0) and human (1): smooth, and free to turn at any time."""

from __future__ import annotations

_TURN = 1 / 3  # of the ramp's duration: how long a change of direction takes


class Ramp:
    """The weight is u^2 (3 - 2u) of a progress u that runs between 0 and 1.

    That cubic has slope zero at both ends, so the weight is C1 wherever u is cut off there. From
    an end, u runs at 1/duration, and the ramp takes exactly its duration. Turned round on the way,
    u changes its speed steadily over a third of the duration, so that the turn has no kink either.
    """

    def __init__(self, *, duration_ns: int, weight: float) -> None:
        self._duration_ns = duration_ns
        self._target = weight
        self._start_ns = 0
        self._origin = weight  # progress and speed (per duration) at the last change of target
        self._speed = 0.0

    @property
    def target(self) -> float:
        """Where the weight is going."""
        return self._target

    def go(self, target: float, now_ns: int) -> None:
        """Set out for ``target`` (0 or 1) from wherever the weight is."""
        progress, speed = self._at(now_ns)
        at_end = progress in (0.0, 1.0)
        self._target, self._start_ns, self._origin = target, now_ns, progress
        self._speed = self._cruise if at_end else speed

    def weight(self, now_ns: int) -> float:
        """Return the weight at ``now_ns``, 0 to 1."""
        u, _ = self._at(now_ns)
        return u * u * (3 - 2 * u)

    def moving(self, now_ns: int) -> bool:
        """Tell whether the ramp is still under way."""
        return self._at(now_ns)[0] != self._target

    @property
    def _cruise(self) -> float:
        return 1.0 if self._target == 1.0 else -1.0

    def _at(self, now_ns: int) -> tuple[float, float]:
        """Return progress and its speed, per duration."""
        s = max(0, now_ns - self._start_ns) / self._duration_ns
        turn = abs(self._cruise - self._speed) / 2 * _TURN
        turned = min(s, turn)
        acceleration = (self._cruise - self._speed) / turn if turn else 0.0
        speed = self._speed + acceleration * turned
        progress = self._origin + (self._speed + speed) / 2 * turned + self._cruise * (s - turned)
        return min(max(progress, 0.0), 1.0), speed

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A leader with torque follows the follower while a policy drives, so that takeovers are aligned.

The torque is what the human's weight leaves of it: it fades out over the ramp of a takeover, and
comes back over that of a handback, from wherever the hand let the leader go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_STEPS = 8  # torque is written to each servo by itself: not more often than this over a ramp


@dataclass(frozen=True)
class Pull:
    """What to do with the leader in one cycle."""

    torque: float | None  # fraction to change to, 0 is off; None: as it is
    goals: dict[str, float]  # rad, by leader joint; empty: none


class FollowingLeader:
    """Decides torque and goals, cycle by cycle; the leader moves at ``speed`` (rad/s) at most."""

    def __init__(self, *, torque: float, speed: float) -> None:
        self._full = torque
        self._speed = speed
        self._level = 0  # of _STEPS
        self._goals: dict[str, float] = {}
        self._last_ns = 0

    @property
    def pulling(self) -> bool:
        """Tell whether the leader has torque."""
        return self._level > 0

    def step(
        self,
        weight: float,
        follower: Mapping[str, float] | None,
        leader: Mapping[str, float],
        now_ns: int,
    ) -> Pull:
        """Take the human's weight, the follower's pose in leader joints and the leader's own.

        Without a fresh pose of the follower (None) the leader is let go.
        """
        level = 0 if follower is None else round((1.0 - weight) * _STEPS)
        torque = None if level == self._level else self._full * level / _STEPS
        if not self.pulling:
            self._goals = dict(leader)
        elapsed_s = max(now_ns - self._last_ns, 0) / 1e9 if self.pulling else 0.0
        self._level, self._last_ns = level, now_ns
        if not level or follower is None:
            return Pull(torque, {})
        most = self._speed * min(elapsed_s, 0.1)
        for name, wanted in follower.items():
            at = self._goals[name]
            self._goals[name] = at + min(max(wanted - at, -most), most)
        return Pull(torque, dict(self._goals))

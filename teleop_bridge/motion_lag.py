# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How long after a command the follower is measured where it was sent."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.latency import Latency

_MEMORY = 100       # commands
_SLOWEST = 0.1      # rad/s or m/s: below it, when a place was commanded can't be told


class MotionLag:
    """Asks of every measurement when the command was there: the answer's age is the lag.

    It is told by the joint that was commanded fastest, as long as its command moved one way only
    and past where the joint is now. A droop of the follower adds droop / speed to it.
    """

    def __init__(self) -> None:
        self.latency = Latency()
        self._stamps: deque[int] = deque(maxlen=_MEMORY)
        self._commands: deque[NDArray[np.float64]] = deque(maxlen=_MEMORY)

    def command(self, positions: NDArray[np.float64], stamp_ns: int) -> None:
        """Take what was sent, shape (n,)."""
        self._stamps.append(stamp_ns)
        self._commands.append(positions)

    def measured(self, positions: NDArray[np.float64], stamp_ns: int) -> None:
        """Take where the follower is, in the same order."""
        if len(self._commands) < 3:
            return
        # its own last move first: most of the time nothing moves, and this is all that runs
        elapsed_s = (self._stamps[-1] - self._stamps[-2]) / 1e9
        move = self._commands[-1] - self._commands[-2]
        joint = int(np.argmax(np.abs(move)))
        if elapsed_s <= 0 or abs(move[joint]) < _SLOWEST * elapsed_s:
            return
        place, way = float(positions[joint]), float(np.sign(move[joint]))
        later, later_ns = float(self._commands[-1][joint]), self._stamps[-1]
        for index in range(len(self._commands) - 2, -1, -1):
            earlier, earlier_ns = float(self._commands[index][joint]), self._stamps[index]
            if way * (later - earlier) <= 0:
                return
            if way * (place - earlier) >= 0:
                if way * (later - place) < 0:
                    return  # it is ahead of every command
                share = (place - earlier) / (later - earlier)
                self.latency.add(stamp_ns - earlier_ns - round(share * (later_ns - earlier_ns)))
                return
            later, later_ns = earlier, earlier_ns

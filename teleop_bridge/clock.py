# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The session's clock: monotonic time plus an offset that is fixed once per session."""

from __future__ import annotations

from dataclasses import dataclass
import time

NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class SessionClock:
    """Session time in integer nanoseconds, immune to steps of the wall clock.

    ``offset_ns`` is what is added to ``CLOCK_MONOTONIC``. The recorder fixes it at the start of a
    session so that session time agrees with wall time at that instant; every node adopts it.
    """

    offset_ns: int

    @classmethod
    def from_wall_clock(cls) -> SessionClock:
        """Fix the offset so that session time equals wall time now."""
        before = time.monotonic_ns()
        wall = time.time_ns()
        after = time.monotonic_ns()
        return cls(wall - (before + after) // 2)

    def now_ns(self) -> int:
        """Return session time, ns."""
        return time.monotonic_ns() + self.offset_ns

    def from_monotonic_ns(self, monotonic_ns: int) -> int:
        """Convert a ``CLOCK_MONOTONIC`` reading, ns, such as a V4L2 buffer's stamp."""
        return monotonic_ns + self.offset_ns

    def wall_drift_ns(self) -> int:
        """Return wall time minus session time, ns: drift, and every step of the wall clock."""
        return time.time_ns() - self.now_ns()

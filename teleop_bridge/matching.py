# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of several streams that belong together, by their capture times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Protocol

DEPTH = 10  # messages of a stream that may wait for their partners


class Matcher(Protocol):
    """Finds sets with one message of each stream whose stamps differ by less than a slop.

    A set is given as soon as its last message is there, and no message is in two of them.
    """

    def add(self, name: str, message: Any, stamp_ns: int) -> dict[str, Any] | None:
        """Take a stream's message, stamped in its header too; return the set it completes."""


class ApproximateMatcher:
    """The Matcher of machines without message_filters; time never goes back from set to set.

    Among the messages that fit the new one it takes those nearest to it.
    """

    def __init__(self, names: Sequence[str], *, slop_ns: int) -> None:
        self._slop_ns = slop_ns
        self._waiting: dict[str, dict[int, Any]] = {name: {} for name in names}

    def add(self, name: str, message: Any, stamp_ns: int) -> dict[str, Any] | None:
        """Take a stream's message; return the set that it completes, None where there is none."""
        queue = self._waiting[name]
        queue[stamp_ns] = message
        if len(queue) > DEPTH:
            del queue[min(queue)]
        near = []
        for other, waiting in self._waiting.items():
            stamps = [stamp_ns] if other == name else list(waiting)
            near.append(
                sorted(
                    (stamp for stamp in stamps if abs(stamp - stamp_ns) < self._slop_ns),
                    key=lambda stamp: abs(stamp - stamp_ns),
                )
            )
        for chosen in product(*near):
            if max(chosen) - min(chosen) < self._slop_ns:
                return self._take(dict(zip(self._waiting, chosen, strict=True)))
        return None

    def _take(self, stamps: dict[str, int]) -> dict[str, Any]:
        matched = {}
        for name, chosen in stamps.items():
            waiting = self._waiting[name]
            matched[name] = waiting[chosen]
            self._waiting[name] = {s: m for s, m in waiting.items() if s > chosen}
        return matched

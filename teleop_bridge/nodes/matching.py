# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Matching by message_filters where it is installed, and by our own matcher elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.matching import ApproximateMatcher, DEPTH, Matcher


class FiltersMatcher:
    """The Matcher over message_filters' ApproximateTimeSynchronizer."""

    def __init__(self, names: Sequence[str], *, slop_ns: int) -> None:
        from message_filters import ApproximateTimeSynchronizer, SimpleFilter

        self._names = tuple(names)
        self._filters = {name: SimpleFilter() for name in names}
        self._matched: dict[str, Any] | None = None
        synchronizer = ApproximateTimeSynchronizer(
            list(self._filters.values()), DEPTH, slop_ns / NANOSECONDS
        )
        synchronizer.registerCallback(self._on_match)
        self._synchronizer = synchronizer

    def add(self, name: str, message: Any, stamp_ns: int) -> dict[str, Any] | None:
        """Take a stream's message; return the set that it completes, None where there is none."""
        self._matched = None
        self._filters[name].signalMessage(message)
        return self._matched

    def _on_match(self, *messages: Any) -> None:
        self._matched = dict(zip(self._names, messages, strict=True))


def make_matcher(names: Sequence[str], *, slop_ns: int) -> Matcher:
    """Return message_filters' matcher, ours where that package is not installed."""
    try:
        return FiltersMatcher(names, slop_ns=slop_ns)
    except ImportError:
        return ApproximateMatcher(names, slop_ns=slop_ns)

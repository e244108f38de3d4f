# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What was read or opened last, kept within bounds and never shared between processes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
import os
from typing import Any, Generic, TypeVar

K = TypeVar('K')
V = TypeVar('V')

# What a forked worker got from its parent is never freed there: a decoder would wait for threads
# that the fork did not copy.
_inherited: list[OrderedDict[Any, Any]] = []


class ProcessCache(Generic[K, V]):
    """The ``size`` values used last.

    A forked worker starts with an empty one, since file positions are shared across a fork, and a
    spawned worker gets an empty copy. ``close`` is called on what is dropped.
    """

    def __init__(self, size: int, close: Callable[[V], None] | None = None) -> None:
        self._size = size
        self._close = close
        self._process = os.getpid()
        self._kept: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, made where it is not kept."""
        if self._process != os.getpid():
            _inherited.append(self._kept)
            self._kept = OrderedDict()
            self._process = os.getpid()
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        value = self._kept[key] = make()
        if len(self._kept) > self._size:
            _, oldest = self._kept.popitem(last=False)
            if self._close is not None:
                self._close(oldest)
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, '_kept': OrderedDict()}

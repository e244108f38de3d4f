# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Memory for chunks, used again once nothing looks at it: fresh pages cost as much as CRCs."""

from __future__ import annotations

_KEPT = 32  # buffers: a chunk as stored, and the records of all that overlap in time


class Buffers:
    """Hands out memory that no view is left of. Not for several threads at once."""

    def __init__(self) -> None:
        self._buffers: list[bytearray] = []

    def take(self, size: int) -> memoryview:
        """Return ``size`` writable bytes of any content; they are its own while a view lives."""
        held = []
        for buffer in self._buffers:
            if not _is_free(buffer):
                held.append(buffer)
            elif len(buffer) >= size:
                return memoryview(buffer)[:size]
        buffer = bytearray(max(size, 1))
        self._buffers = [buffer, *held][:_KEPT]
        return memoryview(buffer)[:size]


def _is_free(buffer: bytearray) -> bool:
    """Tell whether no view is left: only then may a bytearray change its size."""
    try:
        buffer.append(buffer.pop())
    except BufferError:
        return False
    return True

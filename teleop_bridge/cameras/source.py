# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a camera gives, whatever feeds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray


@dataclass(frozen=True)
class CameraFrame:
    """One frame.

    ``pixels`` (height, width, 3) uint8 RGB, or None where the camera compresses: then ``jpeg`` is
    what it sent, untouched. ``monotonic_ns`` is when it was taken, on ``CLOCK_MONOTONIC``.
    ``sequence`` counts the frames that the camera took, those that were lost included.
    """

    monotonic_ns: int
    sequence: int
    pixels: NDArray[Any] | None = None
    jpeg: bytes | None = None


class CameraSource(Protocol):
    """A camera that is opened, read until it ends, and closed by its owner."""

    def open(self) -> None:
        """Open it; raises DeviceError naming what was asked and what exists."""

    def read(self) -> CameraFrame | None:
        """Wait for the next frame, at most a second or so; None where none came."""

    def close(self) -> None:
        """Close it; closing a closed one does nothing."""

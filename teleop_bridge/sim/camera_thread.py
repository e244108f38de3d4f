# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Renders the cameras at their rate in a thread beside the one that steps physics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.sim.rendering import SceneRenderer
from teleop_bridge.sim.scene import CAMERAS


@dataclass(frozen=True)
class Frames:
    """What the cameras saw of one scene state; ``depth`` (mm) only where it was due."""

    stamp_ns: int
    colour: dict[str, NDArray[np.uint8]]
    depth: NDArray[np.uint16] | None


class CameraThread:
    """Draws the latest scene state that ``show`` was given, and hands the frames to a function.

    Each frame is stamped with the time of the state that it shows. The function is called in this
    thread.
    """

    def __init__(
        self, on_frames: Callable[[Frames], None], *, rate_hz: float, depth_every: int
    ) -> None:
        self._on_frames = on_frames
        self._period_s = 1 / rate_hz
        self._depth_every = depth_every
        self._latest: tuple[NDArray[np.float64], int] | None = None
        self._error: FlywheelError | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='cameras', daemon=True)
        self._thread.start()

    def show(self, positions: NDArray[np.float64], stamp_ns: int) -> None:
        """Give the scene's state at a time; raises the FlywheelError that rendering ended with."""
        if self._error is not None:
            raise self._error
        self._latest = positions, stamp_ns

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join(timeout=5.0)

    def _run(self) -> None:
        try:
            renderer = SceneRenderer()
        except FlywheelError as error:
            self._error = error
            return
        due, shown_ns, count = time.monotonic(), 0, 0
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            due = max(due + self._period_s, time.monotonic())
            latest = self._latest
            if latest is None or latest[1] == shown_ns:
                continue
            positions, shown_ns = latest
            self._on_frames(self._render(renderer, positions, shown_ns, count))
            count += 1
        renderer.close()

    def _render(
        self, renderer: SceneRenderer, positions: Any, stamp_ns: int, count: int
    ) -> Frames:
        renderer.show(positions)
        colour = {name: renderer.colour(name) for name in CAMERAS}
        depth = renderer.depth('front') if count % self._depth_every == 0 else None
        return Frames(stamp_ns, colour, depth)

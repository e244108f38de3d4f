# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the simulated cameras see: colour and depth, rendered in software."""

from __future__ import annotations

import weakref

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.sim.engine import gl_missing, mujoco
from teleop_bridge.sim.scene import compile_scene, HEIGHT, WIDTH

_MAX_DEPTH_M = 10.0  # beyond it the 16UC1 convention says 0: no measurement


class SceneRenderer:
    """Renders one scene state at a time, in the thread that made it: GL contexts belong to one."""

    def __init__(self, *, width: int = WIDTH, height: int = HEIGHT) -> None:
        self._mj = mujoco()
        self._model = compile_scene(visual=True)
        self._data = self._mj.MjData(self._model)
        try:
            self._renderer = self._mj.Renderer(self._model, height, width)
        # PyOpenGL tells a missing library in as many ways as it has loaders.
        except Exception as error:
            raise gl_missing(f'{type(error).__name__}: {error}') from error
        # Freed before the interpreter's end, when the GL library is gone already.
        self._close = weakref.finalize(self, self._renderer.close)
        flags = self._renderer.scene.flags
        for flag in ('SHADOW', 'REFLECTION', 'SKYBOX', 'HAZE', 'FOG'):
            flags[getattr(self._mj.mjtRndFlag, f'mjRND_{flag}')] = False

    def show(self, positions: NDArray[np.float64]) -> None:
        """Take the state to draw: SimRig.positions()."""
        self._data.qpos[:] = positions
        self._mj.mj_kinematics(self._model, self._data)
        self._mj.mj_camlight(self._model, self._data)

    def colour(self, camera: str) -> NDArray[np.uint8]:
        """Return what a camera sees, rgb, shape (height, width, 3)."""
        self._renderer.update_scene(self._data, camera)
        return np.asarray(self._renderer.render())

    def depth(self, camera: str) -> NDArray[np.uint16]:
        """Return distances along the optical axis, mm, 0 where there is none, (height, width)."""
        self._renderer.update_scene(self._data, camera)
        self._renderer.enable_depth_rendering()
        try:
            metres = self._renderer.render()
        finally:
            self._renderer.disable_depth_rendering()
        return np.where(metres < _MAX_DEPTH_M, metres * 1000 + 0.5, 0).astype(np.uint16)

    def close(self) -> None:
        """Free the GL context."""
        self._close()

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated rig's physics: commands in, joints, forces and the cube's pose out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.exceptions import FlywheelError, JointError
from teleop_bridge.sim.engine import mujoco
from teleop_bridge.sim.places import draw_place
from teleop_bridge.sim.scene import (
    compile_scene,
    CUBE_HALF,
    in_bin,
    JOINTS,
    LINKS,
    TIMESTEP,
)

REST = np.array([0.0, -1.25, 0.75, 1.5, 0.0, 0.4])  # rad, above the middle of the mat
_START_SPREAD = np.array([0.5, 0.15, 0.15, 0.12, 0.4, 0.2])
_MAT_HALF_M = 0.5
_SETTLING_STEPS = 250
_STEP_NS = round(TIMESTEP * 1e9)
_COUNT = 2 * math.pi / 4096  # rad: an STS3215's encoder


@dataclass(frozen=True)
class Pose:
    """A position in the base frame, m, and a rotation as (w, x, y, z)."""

    xyz: NDArray[np.float64]
    quat: NDArray[np.float64]

    @property
    def yaw(self) -> float:
        """Rotation about the vertical, rad."""
        w, x, y, z = self.quat
        return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


@dataclass(frozen=True)
class ArmState:
    """Measured joints: positions rad, velocities rad/s, efforts N m, each of shape (6,)."""

    positions: NDArray[np.float64]
    velocities: NDArray[np.float64]
    efforts: NDArray[np.float64]


def draw_start(rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw a start pose of the arm above the mat, rad, (6,)."""
    spread: NDArray[np.float64] = rng.uniform(-1, 1, len(JOINTS)) * _START_SPREAD
    return REST + spread


class SimRig:
    """An SO-101 in MuJoCo with a cube and a bin, stepped by whoever owns time; no rendering.

    One seed gives one sequence of start states. Time is integer nanoseconds since the reset.
    """

    def __init__(self, seed: int = 0) -> None:
        self._mj = mujoco()
        self.model = compile_scene(visual=False)
        self._data = self._mj.MjData(self.model)
        self._rng = np.random.default_rng(seed)
        self._cube = self.model.joint('cube')
        self._carried = False
        self._left_over_ns = 0
        self.reset()

    def seed(self, seed: int) -> None:
        """Begin the sequence of start states of another seed."""
        self._rng = np.random.default_rng(seed)

    def reset(
        self,
        *,
        cube_xy: Sequence[float] | None = None,
        cube_yaw: float | None = None,
        joints: NDArray[np.float64] | None = None,
    ) -> None:
        """Place cube and arm and let them settle; what is not given is drawn from the seed."""
        place = draw_place(self._rng)
        drawn_start = draw_start(self._rng)
        start = drawn_start if joints is None else np.asarray(joints, np.float64)
        self._mj.mj_resetData(self.model, self._data)
        self._data.qpos[: len(JOINTS)] = start
        self._left_over_ns = 0
        self.lay_cube(
            place.xy if cube_xy is None else cube_xy,
            place.yaw if cube_yaw is None else cube_yaw,
        )
        self.command(start)
        self._mj.mj_step(self.model, self._data, nstep=_SETTLING_STEPS)

    def lay_cube(self, xy: Sequence[float], yaw: float) -> None:
        """Lay the cube on the mat, m and rad, at rest; FlywheelError where that is not on it."""
        if len(xy) != 2 or not all(abs(value) < _MAT_HALF_M for value in xy):
            raise FlywheelError(f'the cube: expected x, y within {_MAT_HALF_M} m, found {xy}')
        address, dof = int(self._cube.qposadr[0]), int(self._cube.dofadr[0])
        self._data.qpos[address : address + 7] = [
            *xy, CUBE_HALF, math.cos(yaw / 2), 0, 0, math.sin(yaw / 2),
        ]  # fmt: skip
        self._data.qvel[dof : dof + 6] = 0
        self._mj.mj_forward(self.model, self._data)
        self._carried = False

    def command(self, positions: NDArray[np.float64]) -> None:
        """Set the servos' goals, rad, shape (6,), clipped to their range."""
        if np.shape(positions) != (len(JOINTS),) or not np.all(np.isfinite(positions)):
            raise JointError(f'expected {len(JOINTS)} finite joint positions, found {positions}')
        low, high = self.model.actuator_ctrlrange.T
        self._data.ctrl[:] = np.clip(positions, low, high)

    def step(self, dt_ns: int) -> None:
        """Advance by ``dt_ns``; what is less than a time step is kept for the next call."""
        self._left_over_ns += dt_ns
        steps, self._left_over_ns = divmod(self._left_over_ns, _STEP_NS)
        if steps:
            self._mj.mj_step(self.model, self._data, nstep=steps)
        if self.cube_pose().xyz[2] > 2.5 * CUBE_HALF:
            self._carried = True

    def state(self) -> ArmState:
        """Return the joints as the servos' encoders resolve them."""
        count = len(JOINTS)
        return ArmState(
            np.round(self._data.qpos[:count] / _COUNT) * _COUNT,
            self._data.qvel[:count].copy(),
            self._data.actuator_force.copy(),
        )

    def wrench(self) -> NDArray[np.float64]:
        """Return the force, N, and torque, N m, by which the wrist holds the gripper: (6,)."""
        force, torque = (self._data.sensor(f'wrist_{kind}').data for kind in ('force', 'torque'))
        return np.concatenate([force, torque])

    def gripper_load(self) -> float:
        """Return the torque with which the gripper closes, N m (positive: closing)."""
        return -float(self._data.actuator_force[-1])

    def cube_pose(self) -> Pose:
        """Return where the cube is."""
        body = self._data.body('cube')
        return Pose(body.xpos.copy(), body.xquat.copy())

    def link_poses(self) -> dict[str, Pose]:
        """Return the arm's links by the URDF's frame names, in the base frame."""
        bodies = {f'{link}_link': self._data.body(link) for link in LINKS}
        return {name: Pose(b.xpos.copy(), b.xquat.copy()) for name, b in bodies.items()}

    def solved(self) -> bool:
        """Return whether the cube was carried and now lies in the bin, let go."""
        xyz = self.cube_pose().xyz
        dof = int(self._cube.dofadr[0])
        at_rest = np.linalg.norm(self._data.qvel[dof : dof + 3]) < 0.02
        return bool(self._carried and at_rest and in_bin(xyz))

    def positions(self) -> NDArray[np.float64]:
        """Return the whole scene's joint positions, exactly: what a renderer draws."""
        return np.array(self._data.qpos)

    def snapshot(self) -> Any:
        """Return what ``restore`` needs to come back to this very state."""
        size = self._mj.mj_stateSize(self.model, self._mj.mjtState.mjSTATE_INTEGRATION)
        state = np.empty(size)
        self._mj.mj_getState(self.model, self._data, state, self._mj.mjtState.mjSTATE_INTEGRATION)
        return state, self._carried, self._left_over_ns

    def restore(self, snapshot: Any) -> None:
        """Return to a state that ``snapshot`` took."""
        state, self._carried, self._left_over_ns = snapshot
        self._mj.mj_setState(self.model, self._data, state, self._mj.mjtState.mjSTATE_INTEGRATION)
        self._mj.mj_forward(self.model, self._data)

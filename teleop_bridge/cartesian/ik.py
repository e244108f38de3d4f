# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Differential inverse kinematics on the rig's URDF, through pinocchio."""

from __future__ import annotations

from dataclasses import dataclass
import importlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.exceptions import MissingDependencyError, RigError
from teleop_bridge.rig.schema import JointKind, Rig

Vector = NDArray[np.float64]

# One rad of rotation weighs as much as this many metres: about an arm's hand size.
ROTATION_WEIGHT_M = 0.1
# Damping sets in where the smallest singular value of the weighted Jacobian falls below this, m.
_SINGULAR_M = 0.02
_MAX_DAMPING = 0.02


@dataclass(frozen=True)
class Pose:
    """``position`` (3,) in m and ``rotation`` (3, 3), in the base frame's axes."""

    position: Vector
    rotation: Vector


@dataclass(frozen=True)
class Validity:
    """How far a sample made by inverse kinematics can be trusted.

    ``manipulability`` is the smallest singular value of the weighted Jacobian, m: zero where the
    arm can't move some way that a five- or six-joint arm should. ``residual`` is the part of the
    asked motion that was not made, 0 to 1. ``limit_margin`` is the distance of the joint nearest
    to a limit, as a share of its half range: 0 at the limit, 1 in the middle.
    """

    manipulability: float
    residual: float
    limit_margin: float


class DifferentialIk:
    """Moves joints so that a frame of the arm moves as asked.

    Damped least squares with damping that grows towards singularities (Nakamura and Hanafusa 1986,
    ASME J. Dyn. Sys. 108(3)). A joint that would pass a limit is stopped at it and the others are
    solved again without it. The gripper is not part of the chain: its position is kept.
    """

    def __init__(self, rig: Rig, *, urdf: Path, tip_frame: str) -> None:
        """Load the URDF; raises RigError where it lacks a joint or the frame."""
        try:
            self._pin: Any = importlib.import_module('pinocchio')
        except ImportError as error:
            raise MissingDependencyError(
                'Cartesian devices need pinocchio: pip install pin, or rosdep install pinocchio'
            ) from error
        model = self._pin.buildModelFromUrdf(str(urdf))
        if missing := [name for name in rig.joint_names if not model.existJointName(name)]:
            raise RigError(f"{urdf}: joint '{missing[0]}' of {rig.path} is not in it")
        if not model.existFrame(tip_frame):
            frames = ', '.join(frame.name for frame in model.frames)
            raise RigError(f"{urdf}: no frame '{tip_frame}' (frames: {frames})")
        self._model = model
        self._data = model.createData()
        self._frame = model.getFrameId(tip_frame)
        self._columns = [model.joints[model.getJointId(name)].idx_v for name in rig.joint_names]
        self._chain = np.array([joint.kind is not JointKind.GRIPPER for joint in rig.joints])
        self._lower = np.array([joint.lower for joint in rig.joints])
        self._upper = np.array([joint.upper for joint in rig.joints])

    def pose(self, positions: Vector) -> Pose:
        """Return where the tip is for joints (n,)."""
        placement = self._place(positions)
        return Pose(placement.translation.copy(), placement.rotation.copy())

    def move(self, positions: Vector, motion: Vector) -> tuple[Vector, Validity]:
        """Return joints (n,) whose tip is moved by ``motion`` (6,), and how well that went.

        The motion is a translation in m, then a rotation vector in rad, in the base frame's axes.
        """
        self._place(positions)
        jacobian = self._jacobian(positions)
        weighted = motion * np.repeat([1.0, ROTATION_WEIGHT_M], 3)
        free = self._chain.copy()
        change = np.zeros_like(positions)
        for _ in positions:  # each pass stops at least one joint, or is the last
            change[free] = _damped(
                jacobian[:, free], weighted - jacobian[:, ~free] @ change[~free]
            )
            goal = positions + change
            over = free & ((goal < self._lower) | (goal > self._upper))
            if not over.any():
                break
            change[over] = np.clip(goal, self._lower, self._upper)[over] - positions[over]
            free &= ~over
        return positions + change, self._validity(positions + change, jacobian, change, weighted)

    def difference(self, tip: Pose, target: Pose) -> Vector:
        """Return the motion (6,) that takes ``tip`` to ``target``, as ``move`` takes it."""
        turn = self._pin.log3(target.rotation @ tip.rotation.T)
        return np.concatenate([target.position - tip.position, turn])

    def _full(self, positions: Vector) -> Vector:
        full: Vector = self._pin.neutral(self._model)
        full[self._columns] = positions
        return full

    def _place(self, positions: Vector) -> Any:
        self._pin.framesForwardKinematics(self._model, self._data, self._full(positions))
        return self._data.oMf[self._frame]

    def _jacobian(self, positions: Vector) -> Vector:
        """Return the weighted Jacobian (6, n) in the base frame's axes."""
        full = self._pin.computeFrameJacobian(
            self._model,
            self._data,
            self._full(positions),
            self._frame,
            self._pin.LOCAL_WORLD_ALIGNED,
        )
        weights = np.repeat([1.0, ROTATION_WEIGHT_M], 3)
        jacobian: Vector = full[:, self._columns] * weights[:, None]
        return jacobian

    def _validity(
        self, positions: Vector, jacobian: Vector, change: Vector, weighted: Vector
    ) -> Validity:
        asked = float(np.linalg.norm(weighted))
        missed = float(np.linalg.norm(weighted - jacobian @ change))
        half = (self._upper - self._lower) / 2
        with np.errstate(invalid='ignore'):  # a joint without limits
            margin = np.minimum(positions - self._lower, self._upper - positions) / half
        margin = np.where(np.isfinite(half), margin, 1.0)[self._chain]
        return Validity(
            manipulability=float(np.linalg.svd(jacobian[:, self._chain], compute_uv=False)[-1]),
            residual=min(missed / asked, 1.0) if asked > 1e-12 else 0.0,
            limit_margin=float(np.clip(margin, 0.0, 1.0).min()),
        )


def _damped(jacobian: Vector, motion: Vector) -> Vector:
    """Solve jacobian @ x = motion by least squares, damped near singularities."""
    if not jacobian.shape[1]:
        return np.zeros(0)
    u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
    nearness = max(0.0, 1.0 - s[-1] / _SINGULAR_M)
    damping = (_MAX_DAMPING * nearness) ** 2
    solution: Vector = vt.T @ (s / (s * s + damping + 1e-12) * (u.T @ motion))
    return solution

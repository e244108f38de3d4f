# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated arm's tool pose from its joints and back, from the model itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.sim.engine import mujoco
from teleop_bridge.sim.scene import compile_scene, JOINTS, SHOULDER_XY

_ARM = len(JOINTS) - 1          # the gripper's joint does not move the tool
_ORIENTATION_WEIGHT = 0.03      # m of position error that one rad is traded against
_DAMPING = 1e-6
_ITERATIONS = 30
_TOLERANCE = 1e-5               # rad, of the last update
_MAX_UPDATE = 0.3               # rad
_SEED = np.array([0.0, -0.6, 0.6, 1.3, 0.0])


@dataclass(frozen=True)
class ToolPose:
    """Where the jaws are, about the shoulder's vertical axis: m and rad, base frame.

    ``yaw`` is the direction in which the jaws close, ``tilt`` leans the approach outwards from
    straight down.
    """

    radius: float
    azimuth: float
    z: float
    yaw: float
    tilt: float

    @classmethod
    def above(cls, xy: NDArray[np.float64], z: float, *, yaw: float) -> ToolPose:
        """Return the tool pose above a point of the mat.

        ``yaw`` is a face of the object: of its four, that which turns the wrist least is taken.
        """
        dx, dy = xy[0] - SHOULDER_XY[0], xy[1] - SHOULDER_XY[1]
        radius, azimuth = math.hypot(dx, dy), math.atan2(dy, dx)
        turn = math.remainder(yaw - azimuth, math.pi / 2)
        return cls(radius, azimuth, z, azimuth + turn, _reachable_tilt(radius, z))

    def raised(self, z: float) -> ToolPose:
        """Return this pose at another height."""
        return replace(self, z=z, tilt=_reachable_tilt(self.radius, z))

    def towards(self, other: ToolPose, share: float) -> ToolPose:
        """Return the pose that lies ``share`` (0 to 1) of the way along an arc to another."""
        mine, theirs = (
            np.array([p.radius, p.azimuth, p.z, p.yaw - p.azimuth, p.tilt]) for p in (self, other)
        )
        radius, azimuth, z, turn, tilt = mine + share * (theirs - mine)
        return ToolPose(radius, azimuth, z, azimuth + turn, tilt)

    def distance(self, other: ToolPose) -> float:
        """Return about how far the tool travels to another pose, m."""
        arc = (other.azimuth - self.azimuth) * (self.radius + other.radius) / 2
        return math.hypot(arc, other.radius - self.radius, other.z - self.z)

    @property
    def xyz(self) -> NDArray[np.float64]:
        """Return the position in the base frame, m."""
        x = SHOULDER_XY[0] + self.radius * math.cos(self.azimuth)
        y = SHOULDER_XY[1] + self.radius * math.sin(self.azimuth)
        return np.array([x, y, self.z])

    def axes(self) -> NDArray[np.float64]:
        """Return the tool's rotation, 3x3: x closes the jaws, -z approaches."""
        outwards = np.array([math.cos(self.azimuth), math.sin(self.azimuth), 0.0])
        back = math.cos(self.tilt) * np.array([0.0, 0.0, 1.0]) - math.sin(self.tilt) * outwards
        closing = np.array([math.cos(self.yaw), math.sin(self.yaw), 0.0])
        closing = closing - (closing @ back) * back
        closing /= np.linalg.norm(closing)
        return np.column_stack([closing, np.cross(back, closing), back])


class ArmKinematics:
    """Forward and inverse kinematics of the arm, without the scene's state."""

    def __init__(self) -> None:
        self._mj = mujoco()
        self._model = compile_scene(visual=False)
        self._data = self._mj.MjData(self._model)
        self._low, self._high = self._model.jnt_range[:_ARM].T
        self._tool = self._model.site('tool').id

    def tool(self, positions: NDArray[np.float64]) -> ToolPose:
        """Return the tool's pose for joint positions, rad, (6,)."""
        self._place(positions[:_ARM])
        xyz = self._data.site_xpos[self._tool]
        axes = self._data.site_xmat[self._tool].reshape(3, 3)
        dx, dy = xyz[0] - SHOULDER_XY[0], xyz[1] - SHOULDER_XY[1]
        azimuth = math.atan2(dy, dx)
        closing, back = axes[:, 0], axes[:, 2]
        level = closing - closing[2] / back[2] * back
        return ToolPose(
            math.hypot(dx, dy),
            azimuth,
            float(xyz[2]),
            yaw=math.atan2(level[1], level[0]),
            tilt=-math.atan2(math.cos(azimuth) * back[0] + math.sin(azimuth) * back[1], back[2]),
        )

    def joints(
        self, pose: ToolPose, start: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the five arm joints, rad, that bring the tool nearest to a pose.

        Damped least squares (Levenberg) from ``start``, within the joint limits; five joints
        cannot hold six coordinates, so position outweighs orientation.
        """
        joints = np.array(_SEED if start is None else start[:_ARM])
        if start is None:
            joints[0] = -pose.azimuth
        target, axes = pose.xyz, pose.axes()
        for _ in range(_ITERATIONS):
            error, jacobian = self._error(joints, target, axes)
            update = _damped_step(jacobian, error)
            beyond = (joints + update < self._low) | (joints + update > self._high)
            if np.any(beyond):  # a joint at its limit stays there, the others make up for it
                jacobian[:, beyond] = 0
                held = np.clip(joints + update, self._low, self._high) - joints
                update = np.where(beyond, held, _damped_step(jacobian, error))
            update = np.clip(update, -_MAX_UPDATE, _MAX_UPDATE)
            joints = np.clip(joints + update, self._low, self._high)
            if np.max(np.abs(update)) < _TOLERANCE:
                break
        return joints

    def _error(
        self,
        joints: NDArray[np.float64],
        target: NDArray[np.float64],
        axes: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        self._place(joints)
        linear, angular = np.zeros((2, 3, self._model.nv))
        self._mj.mj_jacSite(self._model, self._data, linear, angular, self._tool)
        mine = self._data.site_xmat[self._tool].reshape(3, 3)
        turn = _small_turn(mine, axes)
        error = np.concatenate(
            [target - self._data.site_xpos[self._tool], _ORIENTATION_WEIGHT * turn]
        )
        jacobian = np.vstack([linear, _ORIENTATION_WEIGHT * angular])[:, :_ARM]
        return error, jacobian

    def _place(self, joints: NDArray[np.float64]) -> None:
        self._data.qpos[:_ARM] = joints
        self._mj.mj_kinematics(self._model, self._data)
        self._mj.mj_comPos(self._model, self._data)


def _small_turn(
    here: NDArray[np.float64], there: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the rotation vector from one rotation to another near it, (3,), base frame.

    Half the sum of the cross products of their axes, written out: this runs at every iteration.
    """
    turn = there @ here.T
    skew = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
    return np.array(skew) / 2


def _damped_step(
    jacobian: NDArray[np.float64], error: NDArray[np.float64]
) -> NDArray[np.float64]:
    normal = jacobian.T @ jacobian + _DAMPING * np.eye(_ARM)
    return np.asarray(np.linalg.solve(normal, jacobian.T @ error), np.float64)


def _reachable_tilt(radius: float, z: float) -> float:
    """Return the tilt that the wrist needs far out and high up, rad."""
    return min(max(0.0, (radius - 0.2) * 5, (z - 0.06) * 10), 0.9)

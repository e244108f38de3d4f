# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A policy with a planted flaw: it grasps beside the cube, so that a person has to correct it."""

from __future__ import annotations

from enum import Enum
import math

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.policy.base import ActionChunk, Observation, PolicyError
from teleop_bridge.rig.schema import Rig, Role
from teleop_bridge.sim.hand import minimum_jerk
from teleop_bridge.sim.kinematics import ArmKinematics, ToolPose
from teleop_bridge.sim.operator import CLOSED, GRASP_Z, OPEN, TRAVEL_Z
from teleop_bridge.sim.scene import BIN_XY, CUBE_HALF, in_bin, JOINTS, SHOULDER_XY

_PERIOD_NS = 100_000_000
_CHUNK_STEPS, _CHUNK_STEP_NS = 10, 50_000_000
_SPEED = 0.11                 # m/s, mean speed of a movement
_LEAST_S = 0.6
_JAW_S = 0.6
_OFFSET_M = 0.045             # how far beside the cube it grasps
_HELD_M = 0.06                # the cube is this near to the tool when it is held


class _Stage(Enum):
    """Where the policy is in its task, in this order."""

    APPROACH = 'approach'
    DESCEND = 'descend'
    CLOSE = 'close'
    LIFT = 'lift'
    CARRY = 'carry'
    DROP = 'drop'
    REST = 'rest'

    @property
    def next(self) -> _Stage:
        stages = list(_Stage)
        return stages[min(stages.index(self) + 1, len(stages) - 1)]

    @property
    def jaws(self) -> float:
        return CLOSED if self in (_Stage.CLOSE, _Stage.LIFT, _Stage.CARRY) else OPEN


class FlawedPolicy:
    """Picks and places from joints and the cube's pose, but aims its grasps ``offset`` m aside.

    ``checkpoint`` may hold another offset, as ``offset=0.0``: then it grasps well. It sees when a
    person has put the cube in its jaws and goes on from there.
    """

    def __init__(self, rig: Rig, checkpoint: str = '') -> None:
        if rig.joint_names != JOINTS:
            raise PolicyError(
                f'{rig.path}: joints: the flawed policy drives {", ".join(JOINTS)},'
                f' found {", ".join(rig.joint_names)}'
            )
        poses = rig.by_role(Role.POSE)
        if not poses:
            raise PolicyError(f'{rig.path}: streams: the flawed policy needs one of the role pose')
        self.inputs = (poses[0].name,)
        self.checkpoint = checkpoint or 'flawed'
        self.period_ns = _PERIOD_NS
        self._offset = _parse_offset(checkpoint)
        self._arm = ArmKinematics()
        self.reset()

    def reset(self) -> None:
        """Begin again with the approach."""
        self._stage = _Stage.APPROACH
        self._leg: tuple[ToolPose, ToolPose, float, float] | None = None
        self._leg_start_ns = 0
        self._leg_ns = 0
        self._proposed: NDArray[np.float64] | None = None
        self._target: ToolPose | None = None

    def propose(self, observation: Observation) -> ActionChunk:
        """Propose the next half second."""
        now_ns, joints = observation.stamp_ns, observation.state.positions
        cube = np.asarray(observation.values[self.inputs[0]], np.float64)
        if self._driven_elsewhere(joints):
            self._leg = None
            self._stage = _Stage.CARRY if self._holds(joints, cube) else _Stage.APPROACH
        elif self._leg is not None and now_ns - self._leg_start_ns >= self._leg_ns:
            self._leg = None
            self._stage = self._stage.next
        if self._stage in (_Stage.APPROACH, _Stage.REST) and self._leg is None:
            self._stage = _Stage.REST if in_bin(cube[:3]) else _Stage.APPROACH
        if self._leg is None:
            self._begin_leg(joints, cube, now_ns)
        times = now_ns + _CHUNK_STEP_NS * np.arange(_CHUNK_STEPS, dtype=np.int64)
        start = joints
        rows = []
        for time_ns in times:
            start = self._at(int(time_ns), start)
            rows.append(start)
        self._proposed = rows[0]
        return ActionChunk(times, np.array(rows))

    def _begin_leg(
        self, joints: NDArray[np.float64], cube: NDArray[np.float64], now_ns: int
    ) -> None:
        here, jaws = self._arm.tool(joints), float(joints[-1])
        if self._target is not None and self._stage is not _Stage.APPROACH and jaws < OPEN / 2:
            jaws = CLOSED  # what is commanded, not where the cube stopped the jaws
        goal = self._goal(here, cube)
        moving_s = max(_LEAST_S, here.distance(goal) / _SPEED)
        still = self._stage in (_Stage.CLOSE, _Stage.DROP)
        self._leg = (here, goal, jaws, self._stage.jaws)
        self._leg_start_ns = now_ns
        self._leg_ns = round(1e9 * (_JAW_S if still else moving_s))

    def _goal(self, here: ToolPose, cube: NDArray[np.float64]) -> ToolPose:
        if self._stage is _Stage.APPROACH:
            self._target = self._aim(cube)
            return self._target.raised(TRAVEL_Z)
        target = self._target or here
        if self._stage is _Stage.REST:
            return here.raised(TRAVEL_Z)
        if self._stage in (_Stage.DESCEND, _Stage.CLOSE):
            return target
        if self._stage is _Stage.LIFT:
            return target.raised(TRAVEL_Z)
        toward = math.atan2(BIN_XY[1], BIN_XY[0] - SHOULDER_XY[0])
        return ToolPose.above(np.array(BIN_XY), TRAVEL_Z - 0.02, yaw=toward)

    def _aim(self, cube: NDArray[np.float64]) -> ToolPose:
        _, _, _, i, j, k, w = cube
        yaw = math.atan2(2 * (w * k + i * j), 1 - 2 * (j * j + k * k))
        good = ToolPose.above(cube[:2], GRASP_Z, yaw=yaw)
        aside = self._offset * np.array([-math.sin(good.yaw), math.cos(good.yaw)])
        return ToolPose.above(cube[:2] + aside, GRASP_Z, yaw=yaw)

    def _at(self, time_ns: int, start: NDArray[np.float64]) -> NDArray[np.float64]:
        assert self._leg is not None
        origin, goal, jaws_from, jaws_to = self._leg
        share = minimum_jerk((time_ns - self._leg_start_ns) / self._leg_ns)
        arm = self._arm.joints(origin.towards(goal, share), start)
        return np.append(arm, jaws_from + share * (jaws_to - jaws_from))

    def _driven_elsewhere(self, joints: NDArray[np.float64]) -> bool:
        """Tell whether the arm is far from what was proposed: a person is driving it."""
        if self._proposed is None:
            return False
        return bool(np.max(np.abs(joints - self._proposed)[:-1]) > 0.25)

    def _holds(self, joints: NDArray[np.float64], cube: NDArray[np.float64]) -> bool:
        lifted = cube[2] > 2 * CUBE_HALF
        return bool(lifted and np.linalg.norm(self._arm.tool(joints).xyz - cube[:3]) < _HELD_M)


def _parse_offset(checkpoint: str) -> float:
    if not checkpoint:
        return _OFFSET_M
    key, _, value = checkpoint.partition('=')
    try:
        if key != 'offset':
            raise ValueError
        return float(value)
    except ValueError:
        raise PolicyError(
            f"flawed policy: expected a checkpoint such as offset=0.045, found '{checkpoint}'"
        ) from None

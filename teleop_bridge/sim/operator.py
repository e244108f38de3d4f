# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A scripted person who picks the cube and drops it in the bin by moving the leader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
import math

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.sim.hand import minimum_jerk, submovement_path, Tremor
from teleop_bridge.sim.kinematics import ArmKinematics, ToolPose
from teleop_bridge.sim.rig import draw_start, Pose
from teleop_bridge.sim.scene import (
    BIN_XY,
    CUBE_HALF,
    in_bin,
    JOINTS,
    SHOULDER_XY,
)
from teleop_bridge.sim.skill import Script, Skill

OPEN, CLOSED = 1.0, 0.15         # rad, commands to the gripper
TRAVEL_Z = 0.10                  # m, of the tool above the mat
GRASP_Z = 0.017
_RELEASE_Z = 0.07
_LIFTED_Z = 2 * CUBE_HALF        # of the cube's centre
_REACH_M = 0.29                  # from the shoulder's axis
_MISS_M = 0.042                  # how far beside the cube a fumbled grasp is aimed
_JAW_S = 0.35                    # opening or closing
_ALIGN_S = 0.8                   # bringing the leader to the arm's pose before taking over
_GENTLY = 0.3                    # rad/s, where motion is not to take over
_NEAR_RAD = 0.03                 # from the arm's pose: aligned
_RETURN_S = 1.5                   # bringing it to a start pose
_PATIENCE_S = 14.0               # with a policy that gets nowhere


class Outcome(str, Enum):
    """How an attempt stands, as the operator sees it."""

    RUNNING = 'running'
    SUCCEEDED = 'succeeded'
    FAILED = 'failed'


class Request(str, Enum):
    """What the operator asks of the authority."""

    TAKE_OVER = 'take_over'
    HAND_BACK = 'hand_back'


@dataclass(frozen=True)
class Sight:
    """What the operator sees at one time: the arm's joints, rad, (6,), and the cube.

    ``weight`` is the authority that the operator has, 0 to 1.
    """

    now_ns: int
    joints: NDArray[np.float64]
    cube: Pose
    weight: float = 0.0


class ScriptedOperator:
    """Moves a leader through one pick-and-place after another; one seed, one behaviour.

    Commands are leader joint positions in the follower's units and order. The operator looks at
    the cube as a person would: grasps are aimed with an error, a missed one is seen and retried.
    """

    def __init__(
        self,
        kinematics: ArmKinematics,
        *,
        skill: Skill,
        seed: int,
        script: Script = Script.CLEAN,
        fatigue: float = 0.0,
    ) -> None:
        tired = skill.tired(fatigue)
        self._skill = tired.jerky() if script is Script.JERKY else tired
        self._script = script
        self._arm = kinematics
        self._rng = np.random.default_rng(seed)
        self._tremor = Tremor(len(JOINTS), self._skill.tremor, self._rng)
        self._plan: Iterator[None] = iter(())
        self._request: Request | None = None
        self.outcome = Outcome.RUNNING
        self.grasps = 0

    def begin(self, sight: Sight, leader: NDArray[np.float64] | None = None) -> None:
        """Start an attempt with the leader where it is, rad, (6,), or where the arm is."""
        correcting = self._script in (Script.CORRECTION, Script.PEDAL)
        self._start(self._correct() if correcting else self._attempt(), sight, leader)

    def rest(self, sight: Sight, leader: NDArray[np.float64] | None = None) -> None:
        """Begin to bring the leader to a start pose for the next attempt."""
        self._start(self._return(), sight, leader)

    def step(self, sight: Sight) -> NDArray[np.float64]:
        """Return where the leader is now, rad, (6,)."""
        self._sight = sight
        next(self._plan, None)
        return self.hold(sight.now_ns)

    def hold(self, now_ns: int) -> NDArray[np.float64]:
        """Return where the leader is, rad, (6,), while the operator keeps it still."""
        return self._leader + self._tremor.at(now_ns)

    def take_request(self) -> Request | None:
        """Return what the operator has asked for since the last call."""
        request, self._request = self._request, None
        return request

    @property
    def finished(self) -> bool:
        """Whether the attempt has ended, one way or the other."""
        return self.outcome is not Outcome.RUNNING

    def _start(
        self, plan: Iterator[None], sight: Sight, leader: NDArray[np.float64] | None
    ) -> None:
        self._sight = sight
        self._leader = np.array(sight.joints if leader is None else leader, np.float64)
        self._tool = self._arm.tool(self._leader)
        self._request = None
        self.outcome = Outcome.RUNNING
        self.grasps = 0
        self._plan = plan

    # Plans: each `yield` is one step of time.

    def _attempt(self) -> Iterator[None]:
        yield from self._wait(0.2 + self._rng.exponential(0.1))
        for trial in range(self._skill.retries + 1):
            if not self._within_reach():
                break
            fumbled = self._script is Script.FUMBLE and trial == 0
            yield from self._grasp(miss=_MISS_M if fumbled else 0.0)
            if not self._holding():
                continue
            yield from self._carry()
            if not self._holding():
                continue
            yield from self._release()
            if self._in_bin():
                break
        yield from self._reach(self._tool.raised(TRAVEL_Z))
        yield from self._wait(0.3)
        self.outcome = Outcome.SUCCEEDED if self._in_bin() else Outcome.FAILED

    def _correct(self) -> Iterator[None]:
        yield from self._watch()
        if self._in_bin():  # it did it alone
            self.outcome = Outcome.SUCCEEDED
            return
        yield from self._align()
        if self._sight.weight < 1:  # else the leader's motion has taken over already
            self._request = Request.TAKE_OVER
        yield from self._wait(0.3)  # the ramp
        for _ in range(self._skill.retries + 1):
            yield from self._grasp()
            if self._holding():
                yield from self._carry()
            if self._holding():
                break
        self._request = Request.HAND_BACK
        yield from self._until(self._in_bin, 6.0)
        yield from self._wait(0.5)
        self.outcome = Outcome.SUCCEEDED if self._in_bin() else Outcome.FAILED

    def _watch(self) -> Iterator[None]:
        """Look on until the policy has closed on nothing and moved off, or gets nowhere."""
        closed = False
        start = self._sight.now_ns
        while self._seconds_since(start) < _PATIENCE_S and not self._in_bin():
            grip = self._sight.joints[-1]
            tool = self._arm.tool(self._sight.joints)
            closed = (closed or tool.z < 0.04) and grip < 0.3 and not self._holding()
            if closed and tool.z > 0.06:
                return
            yield

    def _align(self) -> Iterator[None]:
        def in_command() -> bool:
            return self._sight.weight >= 1

        if self._script is Script.PEDAL:
            yield from self._creep()
        else:
            yield from self._follow(lambda: self._sight.joints, _ALIGN_S, until=in_command)

    def _creep(self) -> Iterator[None]:
        """Bring the leader to the arm's pose, too slowly for its motion to take over."""
        start = before = self._sight.now_ns
        apart = self._sight.joints - self._leader
        while np.abs(apart).max() > _NEAR_RAD and self._seconds_since(start) < _PATIENCE_S:
            most = _GENTLY * (self._sight.now_ns - before) * 1e-9
            before = self._sight.now_ns
            self._leader = self._leader + np.clip(apart, -most, most)
            yield
            apart = self._sight.joints - self._leader
        self._tool = self._arm.tool(self._leader)

    def _return(self) -> Iterator[None]:
        yield from self._reach(self._tool.raised(TRAVEL_Z))
        start_pose = draw_start(self._rng)
        yield from self._follow(lambda: start_pose, _RETURN_S)
        self.outcome = Outcome.SUCCEEDED

    def _grasp(self, miss: float = 0.0) -> Iterator[None]:
        self.grasps += 1
        if self._tool.z < _RELEASE_Z:
            yield from self._reach(self._tool.raised(TRAVEL_Z))
        yield from self._jaws(OPEN)
        target = self._aim(miss)
        yield from self._reach(target.raised(TRAVEL_Z))
        yield from self._pause()
        yield from self._reach(target)
        yield from self._jaws(CLOSED)
        yield from self._reach(target.raised(TRAVEL_Z))
        if not self._holding():
            yield from self._wait(0.25 + self._rng.exponential(0.15))  # sees that it missed

    def _carry(self) -> Iterator[None]:
        yield from self._pause()
        bin_xy = np.array(BIN_XY) + self._rng.normal(0, 0.006, 2)
        toward = math.atan2(bin_xy[1], bin_xy[0] - SHOULDER_XY[0])
        yield from self._reach(ToolPose.above(bin_xy, TRAVEL_Z, yaw=toward))

    def _release(self) -> Iterator[None]:
        yield from self._reach(self._tool.raised(_RELEASE_Z))
        yield from self._jaws(OPEN)
        yield from self._wait(0.2)

    # Movements.

    def _reach(self, target: ToolPose) -> Iterator[None]:
        skill = self._skill
        origin, start = self._tool, self._sight.now_ns
        distance = origin.distance(target)
        duration = max(skill.settle_s, distance / skill.speed) * self._rng.uniform(0.9, 1.15)
        parts = skill.submovements if distance > 0.05 else 1
        # The hand need not be where inverse kinematics puts it: the difference fades on the way.
        left_over = self._leader[:-1] - self._arm.joints(origin, self._leader)
        astray = skill.wander * self._rng.normal(size=(parts, 3))
        share = 0.0
        while share < 1:
            share = min(self._seconds_since(start) / duration, 1.0)
            way, detour = submovement_path(share, parts)
            out, round_, up = detour * astray[min(int(share * parts), parts - 1)]
            base = origin.towards(target, way)
            self._tool = replace(
                base,
                radius=base.radius + out,
                azimuth=base.azimuth + round_ / base.radius,
                z=base.z + abs(up),
            )
            arm = self._arm.joints(self._tool, self._leader)
            self._leader[:-1] = arm + (1 - minimum_jerk(share)) * left_over
            yield

    def _follow(
        self,
        target: Callable[[], NDArray[np.float64]],
        seconds: float,
        *,
        until: Callable[[], bool] = lambda: False,
    ) -> Iterator[None]:
        origin, start = self._leader, self._sight.now_ns
        share = 0.0
        while share < 1 and not until():
            share = self._seconds_since(start) / seconds
            self._leader = origin + minimum_jerk(share) * (target() - origin)
            yield
        self._tool = self._arm.tool(self._leader)

    def _jaws(self, opening: float) -> Iterator[None]:
        origin, start = self._leader[-1], self._sight.now_ns
        share = 0.0
        while share < 1:
            share = self._seconds_since(start) / _JAW_S
            self._leader[-1] = origin + minimum_jerk(share) * (opening - origin)
            yield
        yield from self._wait(0.1)

    def _pause(self) -> Iterator[None]:
        hesitates = self._rng.random() < self._skill.pause_probability
        length = self._skill.pause_s * self._rng.lognormal(0, 0.4)
        if hesitates:
            yield from self._wait(length)

    def _wait(self, seconds: float) -> Iterator[None]:
        yield from self._until(lambda: False, seconds)

    def _until(self, condition: Callable[[], bool], seconds: float) -> Iterator[None]:
        start = self._sight.now_ns
        while self._seconds_since(start) < seconds and not condition():
            yield

    # Perception.

    def _aim(self, miss: float) -> ToolPose:
        cube = self._sight.cube
        xy = cube.xyz[:2] + self._rng.normal(0, self._skill.aim_error, 2)
        yaw = cube.yaw + self._rng.normal(0, self._skill.yaw_error)
        target = ToolPose.above(xy, GRASP_Z, yaw=yaw)
        across = np.array([-math.sin(target.yaw), math.cos(target.yaw)])
        return ToolPose.above(xy + miss * across, GRASP_Z, yaw=yaw)

    def _holding(self) -> bool:
        return bool(self._sight.cube.xyz[2] > _LIFTED_Z)

    def _in_bin(self) -> bool:
        return in_bin(self._sight.cube.xyz)

    def _within_reach(self) -> bool:
        return math.hypot(*(self._sight.cube.xyz[:2] - SHOULDER_XY)) < _REACH_M

    def _seconds_since(self, start_ns: int) -> float:
        return (self._sight.now_ns - start_ns) * 1e-9

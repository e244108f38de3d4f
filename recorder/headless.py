# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated rig in one process, faster than real time, from the cores that the nodes wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recorder.bag import messages
from recorder.headless_cameras import HeadlessCameras
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.exceptions import RigError
from teleop_bridge.follower import FollowerCore, FollowerOutput
from teleop_bridge.intervention import Event, InterventionLog, LeaderMotionTrigger
from teleop_bridge.joints import JointSample
from teleop_bridge.mapping import LeaderMapping
from teleop_bridge.policy.base import Observation, Policy
from teleop_bridge.policy.player import PolicyPlayer
from teleop_bridge.rig.schema import Rig, Role, Stream
from teleop_bridge.rig.tasks import Task
from teleop_bridge.sim.kinematics import ArmKinematics
from teleop_bridge.sim.leader import leader_sample
from teleop_bridge.sim.operator import Request, ScriptedOperator, Sight
from teleop_bridge.sim.rig import SimRig
from teleop_bridge.sim.scene import CUBE_HALF, JOINTS, ROOT_FRAME
from teleop_bridge.sim.skill import Script, skill_named
from teleop_bridge.vocabulary import Grade, InterventionEvent, InterventionKind, Phase, Trigger

Publish = Callable[[Stream, int, Callable[[], bytes]], None]

_STILL_NS = 500_000_000  # before the first and after the last movement, as in the demo
_LABEL_WINDOW_NS = 60 * NANOSECONDS
_PRE_WINDOW_NS = NANOSECONDS
_LEADER_SPEED, _LEADER_DISTANCE = 0.5, 0.1  # the intervention node's defaults


def _nobody(stream: Stream, stamp_ns: int, make: Callable[[], bytes]) -> None:
    """Listen to nothing: where only the result counts."""


class Driver(str, Enum):
    """Who drives."""

    HUMAN = 'human'  # the scripted operator, from start to end
    POLICY = 'policy'  # the policy alone
    CORRECTED = 'corrected'  # the policy, corrected by the operator where it misses


@dataclass(frozen=True)
class Start:
    """A start state; what is None is drawn from the seed."""

    cube_xy: tuple[float, float] | None = None  # m
    cube_yaw: float | None = None  # rad
    joints: tuple[float, ...] | None = None  # rad


@dataclass(frozen=True)
class Attempt:
    """One attempt at the task: who acts, how, from which start; one seed, one episode."""

    seed: int
    driver: Driver = Driver.HUMAN
    skill: str = 'better'
    script: Script = Script.CLEAN
    fatigue: float = 0.0
    start: Start = Start()
    start_ns: int = 0  # session time at which it begins
    limit_ns: int = 40 * NANOSECONDS


@dataclass(frozen=True)
class Result:
    """How an attempt went, from the simulation's state; ``end_ns`` is session time."""

    solved: bool
    carried: bool
    grasps: int
    interventions: int
    end_ns: int
    start_joints: tuple[float, ...]
    start_cube: tuple[float, float, float]  # x, y in m, yaw in rad

    @property
    def grade(self) -> Grade:
        """Return the grade that a fair operator would give."""
        if self.solved:
            again = self.grasps > 1 or self.interventions
            return Grade.SUCCESS_AFTER_RETRIES if again else Grade.SUCCESS_FIRST_TRY
        return Grade.PARTIAL if self.carried else Grade.FAILURE


@dataclass
class _Run:
    """What one attempt works with."""

    attempt: Attempt
    publish: Publish
    person: ScriptedOperator
    follower: FollowerCore
    player: PolicyPlayer | None
    log: InterventionLog
    motion: LeaderMotionTrigger
    mapping: LeaderMapping
    now_ns: int
    output: FollowerOutput | None = None
    converged: bool = True
    carried: bool = False
    interventions: int = 0
    values: dict[str, NDArray[Any]] = field(default_factory=dict)
    stamps: dict[str, int] = field(default_factory=dict)


class HeadlessRig:
    """Runs attempts one after another and publishes what the live rig's nodes would.

    ``publish(stream, stamp_ns, make)`` gets every message of a declared stream; ``make()``
    serialises it. ``policy`` drives where an attempt asks for one.
    """

    def __init__(
        self,
        rig: Rig,
        task: Task,
        *,
        policy: Policy | None = None,
        cameras: HeadlessCameras | None = None,
    ) -> None:
        if rig.joint_names != JOINTS:
            raise RigError(f'{rig.path}: joints: the simulated arm has {", ".join(JOINTS)}')
        self._rig = rig
        self._task = task
        self._policy = policy
        self._cameras = cameras
        self._streams = {stream.role: stream for stream in reversed(rig.streams)}
        self._period_ns = round(NANOSECONDS / rig.follower.rate_hz)
        self._arm = ArmKinematics()
        self.sim = SimRig()

    def run(self, attempt: Attempt, publish: Publish = _nobody) -> Result:
        """Run one attempt to its end; raises RigError where it needs a policy and has none."""
        run = self._begin(attempt, publish)
        start_joints = tuple(self.sim.state().positions.tolist())
        cube = self.sim.cube_pose()
        run.person.begin(self._sight(run))
        self._still(run)
        deadline_ns = run.now_ns + attempt.limit_ns
        while run.now_ns < deadline_ns and not self._over(run):
            self._tick(run, moving=True)
        if run.interventions:
            self._name_the_reason(run)
        self._still(run)
        return Result(
            solved=self.sim.solved(),
            carried=run.carried,
            grasps=run.person.grasps,
            interventions=run.interventions,
            end_ns=run.now_ns,
            start_joints=start_joints,
            start_cube=(float(cube.xyz[0]), float(cube.xyz[1]), cube.yaw),
        )

    def _begin(self, attempt: Attempt, publish: Publish) -> _Run:
        driven = attempt.driver is not Driver.HUMAN
        if driven and self._policy is None:
            raise RigError(f'an attempt driven by {attempt.driver.value} needs a policy')
        player = PolicyPlayer(self._policy, self._rig) if driven and self._policy else None
        if player is not None:
            player.reset()
        start = attempt.start
        self.sim.seed(attempt.seed)
        self.sim.reset(
            cube_xy=start.cube_xy,
            cube_yaw=start.cube_yaw,
            joints=None if start.joints is None else np.array(start.joints),
        )
        return _Run(
            attempt,
            publish,
            person=self._person(attempt),
            follower=FollowerCore(self._rig, human_first=not driven),
            player=player,
            log=InterventionLog(reasons=self._task.reasons, label_window_ns=_LABEL_WINDOW_NS),
            motion=LeaderMotionTrigger(speed=_LEADER_SPEED, distance=_LEADER_DISTANCE),
            mapping=LeaderMapping(self._rig),
            now_ns=attempt.start_ns,
        )

    def _person(self, attempt: Attempt) -> ScriptedOperator:
        corrects = attempt.driver is Driver.CORRECTED
        return ScriptedOperator(
            self._arm,
            skill=skill_named(attempt.skill),
            seed=attempt.seed,
            script=Script.CORRECTION if corrects else attempt.script,
            fatigue=attempt.fatigue,
        )

    def _over(self, run: _Run) -> bool:
        alone = run.attempt.driver is Driver.POLICY
        return self.sim.solved() if alone else run.person.finished

    def _still(self, run: _Run) -> None:
        end_ns = run.now_ns + _STILL_NS
        while run.now_ns < end_ns:
            self._tick(run, moving=False)

    def _tick(self, run: _Run, *, moving: bool) -> None:
        """One control period: measure, propose, decide, command, step physics."""
        state = self._measure(run)
        if run.attempt.driver is not Driver.POLICY:
            self._move_leader(run, moving)
        elif run.publish is not _nobody:  # a leader that nobody holds is recorded all the same
            self._move_leader(run, False)
        if run.player is not None:
            self._propose(run, state)
        run.follower.measured(state)
        output = run.follower.step(run.now_ns)
        self._execute(run, output)
        self.sim.step(self._period_ns)
        run.carried = run.carried or bool(self.sim.cube_pose().xyz[2] > 2.5 * CUBE_HALF)
        run.now_ns += self._period_ns

    def _measure(self, run: _Run) -> JointSample:
        now_ns, arm, cube = run.now_ns, self.sim.state(), self.sim.cube_pose()
        wrench, load = self.sim.wrench(), self.sim.gripper_load()
        self._say(
            run,
            Role.STATE,
            lambda: messages.joint_state(
                now_ns, JOINTS, arm.positions, arm.velocities, arm.efforts
            ),
        )
        self._say(
            run, Role.WRENCH, lambda: messages.wrench(now_ns, wrench, frame_id='gripper_link')
        )
        self._say(
            run, Role.LOAD, lambda: messages.joint_state(now_ns, JOINTS[-1:], (), (), [load])
        )
        self._say(
            run, Role.POSE, lambda: messages.pose(now_ns, cube.xyz, cube.quat, frame_id=ROOT_FRAME)
        )
        seen = {
            Role.WRENCH: wrench,
            Role.LOAD: np.array([load]),
            Role.POSE: np.concatenate([cube.xyz, cube.quat[1:], cube.quat[:1]]),
        }
        for role, value in seen.items():
            if role in self._streams:
                run.values[self._streams[role].name] = value
                run.stamps[self._streams[role].name] = now_ns
        if self._cameras is not None:
            elapsed_ns = now_ns - run.attempt.start_ns
            for stream, pixels, make in self._cameras.due(self.sim, elapsed_ns, self._period_ns):
                run.publish(stream, now_ns, partial(make, now_ns))
                run.values[stream.name], run.stamps[stream.name] = pixels, now_ns
        return JointSample(JOINTS, arm.positions, now_ns)

    def _move_leader(self, run: _Run, moving: bool) -> None:
        wanted = run.person.step(self._sight(run)) if moving else run.person.hold(run.now_ns)
        leader = leader_sample(self._rig, wanted, run.now_ns)
        self._say(run, Role.LEADER, lambda: _joints(leader))
        human = run.mapping.map(leader.names, leader.positions.tolist(), run.now_ns)
        self._say(run, Role.HUMAN_PROPOSAL, lambda: _joints(human))
        run.follower.human(human)
        if run.player is None:
            return
        moved = run.motion.update(human.positions, run.now_ns)
        phase = run.output.phase if run.output else Phase.HOLD
        if moved and phase is Phase.POLICY and run.log.open_id is None:
            self._intervene(run, run.log.begin(Trigger.LEADER_MOTION, run.now_ns))
        request = run.person.take_request()
        if request is Request.TAKE_OVER and run.log.open_id is None:
            self._intervene(run, run.log.begin(Trigger.SERVICE, run.now_ns))
        elif request is Request.HAND_BACK and run.log.open_id is not None:
            self._intervene(run, run.log.end(run.now_ns))

    def _intervene(self, run: _Run, event: Event) -> None:
        if event.event is InterventionEvent.BEGIN:
            run.interventions += 1
            run.follower.take_over(event.id, run.now_ns)
        elif event.event is InterventionEvent.END:
            run.follower.hand_back(run.now_ns)
        fields = {
            'id': event.id,
            'event': int(event.event),
            'trigger': event.trigger.value,
            'kind': event.kind,
            'reason': event.reason,
            'note': event.note,
        }
        self._say(
            run,
            Role.INTERVENTION,
            lambda: messages.intervention(event.stamp_ns, pre_window_ns=_PRE_WINDOW_NS, **fields),
        )

    def _name_the_reason(self, run: _Run) -> None:
        kind, reason = InterventionKind.GOAL.value, self._task.reasons[0]
        event = run.log.label(
            intervention_id='', kind=kind, reason=reason, note='', now_ns=run.now_ns
        )
        self._intervene(run, event)

    def _propose(self, run: _Run, state: JointSample) -> None:
        assert run.player is not None
        seen = Observation(run.now_ns, state, dict(run.values), dict(run.stamps))
        proposal = run.player.step(seen, run.now_ns)
        if proposal is not None:
            self._say(run, Role.POLICY_PROPOSAL, lambda: _joints(proposal))
            run.follower.policy(proposal)

    def _execute(self, run: _Run, output: FollowerOutput) -> None:
        now_ns = run.now_ns
        if output.command is not None:
            command = JointSample(JOINTS, output.command, now_ns)
            self._say(run, Role.ACTION, lambda: _joints(command))
            self.sim.command(output.command)
        self._say(
            run,
            Role.AUTHORITY,
            lambda: messages.authority(
                now_ns,
                weight=output.weight,
                phase=int(output.phase),
                source=output.source,
                intervention_id=output.intervention_id,
                converged=output.converged,
                reason=output.reason,
            ),
        )
        if output.converged and not run.converged and (event := run.log.converged(now_ns)):
            self._intervene(run, event)
        run.converged, run.output = output.converged, output

    def _sight(self, run: _Run) -> Sight:
        weight = run.output.weight if run.output else 0.0
        return Sight(run.now_ns, self.sim.state().positions, self.sim.cube_pose(), weight)

    def _say(self, run: _Run, role: Role, make: Callable[[], bytes]) -> None:
        stream = self._streams.get(role)
        if stream is not None:
            run.publish(stream, run.now_ns, make)


def _joints(sample: JointSample) -> bytes:
    return messages.joint_state(sample.stamp_ns, sample.names, sample.positions)

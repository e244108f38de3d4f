# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Whole collections of simulated episodes: operators of several skills who tire as they work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed, ProcessPoolExecutor
from dataclasses import dataclass
import math
import multiprocessing
from pathlib import Path

import numpy as np

from recorder.headless import Attempt, Driver, HeadlessRig, Result, Start
from recorder.headless_cameras import headless_variant, HeadlessCameras
from recorder.headless_session import HeadlessSession
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.policy.base import load_policy
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.tasks import load_tasks, Task
from teleop_bridge.sim.places import draw_place, Place
from teleop_bridge.sim.skill import Script, skill_named

_DAY_NS = 86_400 * NANOSECONDS
_EPOCH_NS = 1_767_225_600 * NANOSECONDS  # 2026-01-01: simulated sessions have simulated dates


@dataclass(frozen=True)
class Shift:
    """One session of one simulated person; ``seed`` decides everything in it."""

    operator_id: str
    skill: str
    episodes: int
    seed: int
    day: int = 0
    driver: Driver = Driver.HUMAN
    places: tuple[Place, ...] = ()  # asked for, one after another; empty: the operator chooses

    @property
    def session_id(self) -> str:
        """Return the session's id, of which no two shifts of a collection may have the same."""
        return f'd{self.day:03d}_{self.operator_id}_{self.seed}'


@dataclass(frozen=True)
class Collection:
    """What a collection is made with; pixels are 0 for no cameras."""

    rig: Path
    tasks: Path
    task: str
    output: Path
    width: int = 0
    height: int = 0
    plugin: str = ''
    checkpoint: str = ''


@dataclass(frozen=True)
class Collected:
    """One recorded episode: its bag and how it went."""

    bag: Path
    episode_id: str
    shift: Shift
    result: Result
    seconds: float  # of the operator's time


def plan_shift(shift: Shift) -> list[Attempt]:
    """Draw a session's attempts: the operator tires from 0 to 1, fumbles, jerks, picks places."""
    skill = skill_named(shift.skill)
    rng = np.random.default_rng(shift.seed)
    attempts = []
    for index in range(shift.episodes):
        chosen = draw_place(rng, comfort_bias=skill.comfort_bias)
        place = shift.places[index % len(shift.places)] if shift.places else chosen
        luck = rng.random()
        script = Script.CLEAN
        if luck < skill.fumbles:
            script = Script.FUMBLE
        elif luck < skill.fumbles + skill.jerks:
            script = Script.JERKY
        attempts.append(
            Attempt(
                seed=int(rng.integers(2**31)),
                driver=shift.driver,
                skill=shift.skill,
                script=script,
                fatigue=index / max(1, shift.episodes - 1),
                start=Start(place.xy, place.yaw),
            )
        )
    return attempts


def collect(
    collection: Collection,
    shifts: Sequence[Shift],
    *,
    jobs: int = 1,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> list[Collected]:
    """Record every shift, several at once in processes of their own; in the order of shifts.

    Raises FlywheelError as recording does; what was recorded until then stays.
    """
    total = sum(shift.episodes for shift in shifts)
    done: dict[Shift, list[Collected]] = {}

    def finished(shift: Shift, episodes: list[Collected]) -> None:
        done[shift] = episodes
        advance(sum(map(len, done.values())), total)

    if jobs == 1:
        for shift in shifts:
            finished(shift, record_shift(collection, shift))
    else:
        context = multiprocessing.get_context('spawn')  # GL and threads do not survive a fork
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            running = {pool.submit(record_shift, collection, shift): shift for shift in shifts}
            for future in as_completed(running):
                finished(running[future], future.result())
    return [episode for shift in shifts for episode in done[shift]]


def record_shift(collection: Collection, shift: Shift) -> list[Collected]:
    """Record one session."""
    tasks = load_tasks(collection.tasks)
    task = tasks.task(collection.task)
    rig = headless_variant(
        load_rig(collection.rig), width=collection.width, height=collection.height
    )
    policy = None
    if shift.driver is not Driver.HUMAN:
        policy = load_policy(collection.plugin, rig, collection.checkpoint)
    headless = HeadlessRig(
        rig, task, policy=policy, cameras=HeadlessCameras(rig) if collection.width else None
    )
    session = HeadlessSession(
        headless,
        rig,
        tasks,
        task,
        output=collection.output,
        session_id=shift.session_id,
        operator_id=shift.operator_id,
        policy_checkpoint='' if policy is None else policy.checkpoint,
        start_ns=_EPOCH_NS + shift.day * _DAY_NS,
    )
    return list(_record(session, shift, task))


def _record(session: HeadlessSession, shift: Shift, task: Task) -> Iterator[Collected]:
    for attempt in plan_shift(shift):
        assert attempt.start.cube_xy is not None
        result, closed = session.record(attempt, location=_nearest(task, attempt.start.cube_xy))
        seconds = (closed.facts.end_ns - closed.facts.start_ns) / NANOSECONDS
        yield Collected(closed.path, closed.id, shift, result, seconds)


def _nearest(task: Task, xy: tuple[float, float]) -> str:
    """Return the id of the task's location that is nearest, empty where it has none."""
    placed = [(location.id, location.xyz) for location in task.locations if location.xyz]
    if not placed:
        return ''
    return min(placed, key=lambda entry: math.dist(entry[1][:2], xy))[0]

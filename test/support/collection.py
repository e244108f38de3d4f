# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated collection of which everything is known: people, days, policies, and what is wrong.

Three people of different skill over several days, of whom one does not tire; a corner of the mat
where nobody lays the cube; a few episodes that are done again nearly alike; two policies,
corrected in collections and alone in evaluations.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
import multiprocessing
from pathlib import Path

import numpy as np

from recorder.headless import Attempt, Driver, HeadlessRig, Result, Start
from recorder.headless_cameras import headless_variant
from recorder.headless_collection import plan_shift, Shift
from recorder.headless_session import HeadlessSession
from support.simulated import RIG_FILE, TASKS_FILE
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.tasks import load_tasks
from teleop_bridge.sim.flawed import FlawedPolicy
from teleop_bridge.sim.places import draw_place, Place
from teleop_bridge.sim.skill import skill_named
from teleop_bridge.vocabulary import SessionKind

SKILLS = {'anna': 'better', 'ben': 'okay', 'carl': 'worse'}
TIRELESS = 'ben'
POLICIES = ('offset=0.045', 'offset=0.0')  # the first misses the cube
CORNER = (0.205, -0.005)  # beyond this x and y, m, nobody lays the cube
_EPOCH_NS, _DAY_NS = 1_767_225_600 * NANOSECONDS, 86_400 * NANOSECONDS


@dataclass(frozen=True)
class Sitting:
    """One session and what happens in it."""

    session_id: str
    operator: str
    day: int
    attempts: tuple[Attempt, ...]
    policy: str = ''
    kind: SessionKind = SessionKind.COLLECTION


@dataclass(frozen=True)
class Done:
    """One recorded episode and the truth about it."""

    sitting: Sitting
    attempt: Attempt
    result: Result
    bag: Path
    id: str


def in_corner(xy: tuple[float, float]) -> bool:
    """Tell whether a place is in the corner that is missing."""
    return xy[0] > CORNER[0] and xy[1] > CORNER[1]


def plan(*, days: int, each: int, with_policy: int, copies: int) -> list[Sitting]:
    """Return the sittings: each person has one a day, and each policy two."""
    sittings = []
    for day in range(days):
        for number, (person, skill) in enumerate(SKILLS.items()):
            seed = 1000 * day + number
            places = tuple(_places(np.random.default_rng(seed), each, skill))
            shift = Shift(person, skill, each, seed=seed, day=day, places=places)
            attempts = tuple(
                replace(a, fatigue=0.0) if person == TIRELESS else a for a in plan_shift(shift)
            )
            sittings.append(Sitting(f'{person}_{day}', person, day, attempts))
    again = tuple(_nearly(attempt) for attempt in sittings[0].attempts[:copies])
    sittings.append(Sitting('copies', 'anna', days, again))
    for number, policy in enumerate(POLICIES):
        for kind, driver in (
            (SessionKind.COLLECTION, Driver.CORRECTED), (SessionKind.EVALUATION, Driver.POLICY)
        ):
            rng = np.random.default_rng(99 + number)
            places = _places(rng, with_policy, 'okay')
            attempts = tuple(
                Attempt(int(rng.integers(2**31)), driver=driver, skill='better',
                        start=Start(place.xy, place.yaw))
                for place in places
            )
            name = f'{kind.value}_{number}'
            sittings.append(Sitting(name, 'anna', days + 1 + number, attempts, policy, kind))
    return sittings


def record(folder: Path, sittings: list[Sitting], *, jobs: int = 2) -> list[Done]:
    """Record every sitting into bags under folder."""
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        parts = pool.map(_record, [folder] * len(sittings), sittings)
        return [done for part in parts for done in part]


def _record(folder: Path, sitting: Sitting) -> list[Done]:
    rig = headless_variant(load_rig(RIG_FILE), width=0, height=0)
    tasks = load_tasks(TASKS_FILE)
    task = tasks.task('pick_place')
    policy = FlawedPolicy(rig, sitting.policy) if sitting.policy else None
    session = HeadlessSession(
        HeadlessRig(rig, task, policy=policy), rig, tasks, task,
        output=folder, session_id=sitting.session_id, operator_id=sitting.operator,
        policy_checkpoint=sitting.policy, kind=sitting.kind,
        start_ns=_EPOCH_NS + sitting.day * _DAY_NS,
    )  # fmt: skip
    found = []
    for attempt in sitting.attempts:
        result, closed = session.record(attempt, location='mat')
        found.append(Done(sitting, attempt, result, closed.path, closed.id))
    return found


def _places(rng: np.random.Generator, count: int, skill: str) -> list[Place]:
    found: list[Place] = []
    while len(found) < count:
        place = draw_place(rng, comfort_bias=skill_named(skill).comfort_bias)
        if not in_corner(place.xy):
            found.append(place)
    return found


def _nearly(attempt: Attempt) -> Attempt:
    """Return the attempt with the cube half a millimetre aside."""
    assert attempt.start.cube_xy is not None
    x, y = attempt.start.cube_xy
    return replace(attempt, start=replace(attempt.start, cube_xy=(x + 0.0005, y)))

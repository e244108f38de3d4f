# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A policy alone on the simulated rig, from start states that nobody trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
import multiprocessing
from pathlib import Path

import numpy as np

from recorder.headless import Attempt, Driver, HeadlessRig, Result, Start
from recorder.headless_cameras import headless_variant, HeadlessCameras
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.policy.base import load_policy
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.tasks import load_tasks
from teleop_bridge.sim.places import draw_place

_LIMIT_NS = 20 * NANOSECONDS
_HELD_OUT_SEED = 987_654_321  # apart from every seed that collections use


@dataclass(frozen=True)
class Candidate:
    """A policy, and the rig and task that it is evaluated on."""

    rig: Path
    tasks: Path
    task: str
    plugin: str
    checkpoint: str
    width: int = 0  # of its cameras' frames, pixels; 0 without cameras
    height: int = 0


def held_out_starts(count: int) -> list[Attempt]:
    """Return attempts from places all over the mat, the same for every candidate."""
    rng = np.random.default_rng(_HELD_OUT_SEED)
    attempts = []
    for _ in range(count):
        place = draw_place(rng)
        attempts.append(
            Attempt(
                seed=int(rng.integers(2**31)),
                driver=Driver.POLICY,
                start=Start(place.xy, place.yaw),
                limit_ns=_LIMIT_NS,
            )
        )
    return attempts


def evaluate(
    candidate: Candidate,
    attempts: Sequence[Attempt],
    *,
    jobs: int = 1,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> list[Result]:
    """Run a policy from each start state; results in their order.

    Raises PolicyError where the policy does not fit the rig or proposes what can't be followed.
    """
    chunks = [list(attempts[first::jobs]) for first in range(jobs)]
    if jobs == 1:
        return _evaluate(candidate, chunks[0], advance)
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        parts = list(pool.map(_evaluate, repeat(candidate), chunks))
    advance(len(attempts), len(attempts))
    return [parts[index % jobs][index // jobs] for index in range(len(attempts))]


def _evaluate(
    candidate: Candidate,
    attempts: Sequence[Attempt],
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> list[Result]:
    rig = headless_variant(load_rig(candidate.rig), width=candidate.width, height=candidate.height)
    task = load_tasks(candidate.tasks).task(candidate.task)
    policy = load_policy(candidate.plugin, rig, candidate.checkpoint)
    cameras = HeadlessCameras(rig) if candidate.width else None
    headless = HeadlessRig(rig, task, policy=policy, cameras=cameras)
    results = []
    for number, attempt in enumerate(attempts, 1):
        results.append(headless.run(replace(attempt, driver=Driver.POLICY)))
        advance(number, len(attempts))
    return results

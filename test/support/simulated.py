# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated episodes for tests, as bags and aligned."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from curation.align.episode import Episode
from curation.align.load import load_episode
from curation.align.options import AlignOptions
from recorder.headless import Attempt, HeadlessRig
from recorder.headless_cameras import headless_variant, HeadlessCameras
from recorder.headless_session import HeadlessSession
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.tasks import load_tasks
from teleop_bridge.sim.flawed import FlawedPolicy

RIG_FILE = data_file('config/rigs/so101_sim.yaml')
TASKS_FILE = data_file('config/tasks/pick_place.yaml')


def simulate(
    output: Path, attempts: list[Attempt], *, cameras: tuple[int, int] = (0, 0)
) -> list[Path]:
    """Record attempts into bags, cameras of a size; the policy of some is the flawed one."""
    rig = headless_variant(load_rig(RIG_FILE), width=cameras[0], height=cameras[1])
    tasks = load_tasks(TASKS_FILE)
    task = tasks.task('pick_place')
    session = HeadlessSession(
        HeadlessRig(
            rig,
            task,
            policy=FlawedPolicy(rig),
            cameras=HeadlessCameras(rig) if cameras[0] else None,
        ),
        rig,
        tasks,
        task,
        output=output,
        session_id='s',
        operator_id='op',
    )
    return [session.record(attempt)[1].path for attempt in attempts]


def align_all(bags: list[Path], rate: int = 20) -> list[Episode]:
    """Align bags at a rate in Hz."""
    return [load_episode(bag, options=AlignOptions(rate=Fraction(rate))) for bag in bags]

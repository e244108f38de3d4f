# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The demo's first half: start the rig's processes and record every attempt of the plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import os
from pathlib import Path
import random

from curation.demo import plan
from curation.demo.children import Children
from curation.demo.plan import Attempt
from curation.demo.play import perform, Recorded
from teleop_bridge.exceptions import MissingDependencyError
from teleop_bridge.resources import data_file
from teleop_bridge.rig import bringup
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.tasks import load_tasks

TRIES = 10
DOMAINS = range(1, 101)  # ROS domains that keep clear of Linux's ephemeral ports

Tell = Callable[[str], None]


def record(
    output: Path,
    *,
    tell: Tell,
    domain_id: int | None = None,
    attempts: Sequence[Attempt] = plan.PLAN,
) -> list[Recorded]:
    """Record attempts, by default the demo's, into ``output``/bags; ``tell`` gets a line a step.

    Every process runs in ROS domain ``domain_id``, by default one in which no node is yet.
    Raises DemoError, ChildError and MissingDependencyError.
    """
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    try:
        from curation.nodes.conductor import Conductor, find_free_domain
    except ImportError as error:
        raise MissingDependencyError(
            f'the demo needs ROS 2 Jazzy, found none ({error}): run it by make demo'
        ) from error
    if domain_id is None:
        domain_id = find_free_domain(random.sample(DOMAINS, TRIES))
    tasks = data_file('config/tasks/pick_place.yaml')
    task = load_tasks(tasks).task(plan.TASK)
    recorded = []
    with Children(logs=output / 'logs', environment=_environment(domain_id)) as children:
        for process in _processes(output, tasks):
            children.start(process)
        tell('starting the rig: simulation, operator, leader, follower, policy, recorder')
        with Conductor(domain_id=domain_id, watch=children.check) as rig:
            for attempt in attempts:
                tell(attempt.title)
                recorded.append(perform(attempt, task, rig))
            rig.trigger('recorder/stop')
        for complaint in children.stop():
            tell(complaint)
    return recorded


def _processes(output: Path, tasks_file: Path) -> list[bringup.Process]:
    rig = load_rig(data_file('config/rigs/so101_sim.yaml'))
    tasks = str(tasks_file)
    return [
        *bringup.simulation(rig, tasks=tasks),
        *bringup.driving(rig, tasks=tasks, operator_id=plan.OPERATOR),
        bringup.policy(rig, plugin=plan.POLICY),
        *bringup.recording(
            rig,
            output=str(output / 'bags'),
            tasks=tasks,
            task=plan.TASK,
            operator_id=plan.OPERATOR,
        ),
    ]


def _environment(domain_id: int) -> dict[str, str]:
    """Return the environment of our processes."""
    own = {'ROS_DOMAIN_ID': str(domain_id), 'PYTHONUNBUFFERED': '1', 'OMP_NUM_THREADS': '1'}
    return {**os.environ, **own}

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The demo's first half: start the rig's processes and record every attempt of the plan."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path

from curation.demo import plan
from curation.demo.children import Children
from curation.demo.play import perform, Recorded
from teleop_bridge.exceptions import MissingDependencyError
from teleop_bridge.resources import data_file
from teleop_bridge.rig import bringup
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.tasks import load_tasks

DOMAINS = range(1, 101)  # ROS domains that keep clear of Linux's ephemeral ports

Tell = Callable[[str], None]


def record(output: Path, *, domain_id: int | None, tell: Tell) -> list[Recorded]:
    """Record the plan's attempts into ``output``/bags; ``tell`` gets one line per step.

    Every process runs in a ROS domain of its own, by default one that depends on our process id.
    Raises DemoError, ChildError and MissingDependencyError.
    """
    environment = _join_domain(domain_id)
    try:
        from curation.nodes.conductor import Conductor
    except ImportError as error:
        raise MissingDependencyError(
            f'the demo needs ROS 2 Jazzy, found none ({error}): run it by make demo'
        ) from error
    tasks = data_file('config/tasks/pick_place.yaml')
    task = load_tasks(tasks).task(plan.TASK)
    recorded = []
    with Children(logs=output / 'logs', environment=environment) as children:
        for process in _processes(output, tasks):
            children.start(process)
        tell('starting the rig: simulation, operator, leader, follower, policy, recorder')
        with Conductor(domain_id=int(environment['ROS_DOMAIN_ID']), watch=children.check) as rig:
            for attempt in plan.PLAN:
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


def _join_domain(domain_id: int | None) -> dict[str, str]:
    """Choose the domain for us and our children; return the children's environment."""
    if domain_id is None:
        domain_id = DOMAINS[os.getpid() % len(DOMAINS)]
    os.environ['ROS_DOMAIN_ID'] = str(domain_id)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    return {**os.environ, 'PYTHONUNBUFFERED': '1', 'OMP_NUM_THREADS': '1'}

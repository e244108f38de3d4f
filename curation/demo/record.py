# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The demo's first half: start the rig's processes and record every attempt of the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import os
from pathlib import Path
import random

from curation.demo import plan
from curation.demo.children import Children
from curation.demo.pace import slowed_rig
from curation.demo.plan import Attempt
from curation.demo.play import perform, Recorded
from curation.exceptions import NotArmedError
from teleop_bridge.exceptions import MissingDependencyError
from teleop_bridge.resources import data_file
from teleop_bridge.rig import bringup
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig
from teleop_bridge.rig.tasks import load_tasks

RIG = 'config/rigs/so101_sim.yaml'
TRIES = 10
SHARES = (1.0, 0.5, 0.2)  # of the rig's rates, tried in turn where the machine is too slow
DOMAINS = range(1, 101)  # ROS domains that keep clear of Linux's ephemeral ports

Tell = Callable[[str], None]


def record(
    output: Path,
    *,
    tell: Tell,
    domain_id: int | None = None,
    attempts: Sequence[Attempt] = plan.PLAN,
    shares: Sequence[float] = SHARES,
) -> list[Recorded]:
    """Record attempts, by default the demo's, into ``output``/bags; ``tell`` gets a line a step.

    Every process runs in ROS domain ``domain_id``, by default one in which no node is yet. Where
    the recorder does not arm, the rig starts anew with the next of ``shares`` of its rates.
    Raises DemoError, ChildError and MissingDependencyError.
    """
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    try:
        from curation.nodes.conductor import find_free_domain
    except ImportError as error:
        raise MissingDependencyError(
            f'the demo needs ROS 2 Jazzy, found none ({error}): run it by make demo'
        ) from error
    if domain_id is None:
        domain_id = find_free_domain(random.sample(DOMAINS, TRIES))
    recorded: list[Recorded] = []
    for share, slower in zip(shares, [*shares[1:], None], strict=True):
        rig = slowed_rig(data_file(RIG), share=share, folder=output)
        try:
            for entry in _attempts(rig, output, attempts, tell=tell, domain_id=domain_id):
                recorded.append(entry)
            break
        except NotArmedError as error:
            if recorded or slower is None:
                raise
            tell(f'{error}: again at {slower:.0%} of the rates, since this machine is too slow')
    return recorded


def _attempts(
    rig: Path, output: Path, attempts: Sequence[Attempt], *, tell: Tell, domain_id: int
) -> Iterator[Recorded]:
    from curation.nodes.conductor import Conductor

    tasks = data_file('config/tasks/pick_place.yaml')
    task = load_tasks(tasks).task(plan.TASK)
    with Children(logs=output / 'logs', environment=_environment(domain_id)) as children:
        for process in _processes(load_rig(rig), output, tasks):
            children.start(process)
        tell('starting the rig: simulation, operator, leader, follower, policy, recorder')
        with Conductor(domain_id=domain_id, watch=children.check) as conductor:
            for attempt in attempts:
                tell(attempt.title)
                yield perform(attempt, task, conductor)
            conductor.trigger('recorder/stop')
        for complaint in children.stop():
            tell(complaint)


def _processes(rig: Rig, output: Path, tasks_file: Path) -> list[bringup.Process]:
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

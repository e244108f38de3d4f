# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Perform the demo's plan on a running rig, through services only, as a person would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from curation.demo import plan
from curation.demo.plan import Attempt, Driver, Ending
from teleop_bridge.rig.tasks import Task
from teleop_bridge.vocabulary import Grade, InterventionKind

ATTEMPT_S = 60.0    # more than any attempt takes: the operator is stuck
REST_S = 20.0
STILL_S = 0.5       # recorded before the first and after the last movement


class Rig(Protocol):
    """What the play needs of a running rig; curation/nodes/conductor.py does it over ROS."""

    def wait_for(self, seconds: float, what: str, until: Callable[[], bool]) -> None:
        """Wait for a condition."""

    def rest(self, seconds: float) -> None:
        """Let time pass."""

    def trigger(self, service: str) -> str:
        """Call a Trigger service."""

    def start_episode(self, *, task: str, location: str, note: str) -> Path:
        """Start recording."""

    def end_episode(self, grade: Grade, note: str) -> tuple[Path, str]:
        """End the episode with its grade."""

    def label_intervention(self, kind: InterventionKind, reason: str, note: str) -> None:
        """Name why the operator took over."""

    def set_parameters(self, node: str, **values: Any) -> None:
        """Set parameters of a node."""

    def operator_status(self) -> str:
        """Return what the scripted operator says of itself."""

    def solved(self) -> bool:
        """Return whether the cube is in the bin."""


@dataclass(frozen=True)
class Recorded:
    """One attempt's outcome: its bag's folder and, of a kept one, its episode id."""

    attempt: Attempt
    bag: Path
    episode_id: str = ''


def perform(attempt: Attempt, task: Task, rig: Rig) -> Recorded:
    """Record one attempt; raises DemoError where the rig refuses or does not answer."""
    _prepare(attempt, task, rig)
    bag = rig.start_episode(task=task.name, location=attempt.location, note=attempt.title)
    rig.rest(STILL_S)
    if attempt.driver is Driver.POLICY:
        rig.trigger('policy/reset')
        rig.trigger('follower/engage_policy')
    rig.trigger('sim_operator/begin')
    if attempt.ending is Ending.CANCELLED:
        rig.rest(plan.CANCEL_AFTER_S)
        rig.trigger('recorder/cancel')
        rig.trigger('sim_operator/abort')
        return Recorded(attempt, bag)
    rig.wait_for(
        ATTEMPT_S,
        f'{attempt.title}: the end of the movement',
        lambda: rig.operator_status() in ('succeeded', 'failed'),
    )
    if attempt.driver is Driver.POLICY:
        why = plan.CORRECTION
        rig.label_intervention(why.kind, why.reason, why.note)
    rig.rest(STILL_S)
    bag, episode_id = rig.end_episode(
        attempt.grade if rig.solved() else Grade.FAILURE, attempt.note
    )
    return Recorded(attempt, bag, episode_id)


def _prepare(attempt: Attempt, task: Task, rig: Rig) -> None:
    xyz = task.location(attempt.location).xyz or (0.2, 0.0, 0.0)
    rig.set_parameters('sim_rig', cube_xy=list(xyz[:2]), cube_yaw=attempt.yaw)
    rig.set_parameters(
        'sim_operator', script=attempt.script, skill=attempt.skill, seed=attempt.seed
    )
    rig.trigger('follower/engage_human')
    rig.trigger('sim_operator/rest')
    rig.wait_for(REST_S, 'the start pose', lambda: rig.operator_status() == 'idle')
    rig.trigger('sim/reset')

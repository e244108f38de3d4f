# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The recorder node's parameters, each with its description and range."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rclpy.node import Node

from recorder.evaluation import interleave, Trial
from recorder.exceptions import SessionError
from recorder.operators import find_operator, Operator
from recorder.proposals import Proposal, Proposals, read_proposals
from recorder.session import Plan
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.nodes.parameters import declare
from teleop_bridge.rig.tasks import Task
from teleop_bridge.vocabulary import SessionKind

_HOUR = 3600.0
_PARAMETERS: tuple[tuple[str, Any, str, tuple[float, float] | None], ...] = (
    ('rig', '', 'path of the rig file', None),
    ('tasks', '', 'path of the tasks file, empty for none', None),
    ('checks', '', 'path of the checks file, empty for none', None),
    ('output', 'bags', 'folder that gets one folder per session and one bag per attempt', None),
    (
        'session_id',
        '',
        'name of the session, empty for its start time; an existing one resumes',
        None,
    ),
    ('operators', '', 'path of the file of operators, empty for none', None),
    ('operator', '', 'name of the operator in that file, in place of operator_id', None),
    ('operator_id', '', "operator's pseudonym", None),
    ('consent', True, "whether the operator agreed to the data's use", None),
    ('session_kind', 'collection', 'collection, evaluation or dry_run', None),
    ('task', '', 'name of the task in the tasks file', None),
    (
        'proposals',
        '',
        "path of places to ask for once the targets are met, from 'ask next --json'",
        None,
    ),
    ('policy_checkpoint', '', 'checkpoint of the policy that drives', None),
    (
        'checkpoints',
        [''],
        'checkpoints that an evaluation interleaves, blind to the operator',
        None,
    ),
    ('repeats', 1, 'how often each of them meets each location', (1, 1000)),
    ('storage', '', 'bag writer: rosbag2, mcap, or empty for the better one present', None),
    ('preroll_s', 0.0, 'how much of the past a bag begins with, s', (0.0, 60.0)),
    ('arm_timeout_s', 5.0, 'how long start waits for streams to pass the gate, s', (0.0, 120.0)),
    (
        'clock_bound_ms',
        5.0,
        "how far other machines' clocks may be off before it warns, ms",
        (0.0, 10_000.0),
    ),
    ('disk_floor_mb', 1000, 'free space at which the bag in hand is closed, MB', (0, 10_000_000)),
    ('episodes_per_block', 0, 'episodes between breaks, 0 without blocks', (0, 10_000)),
    ('blocks', 0, 'blocks in the session, 0 for an open end', (0, 10_000)),
    ('break_s', 0.0, 'length of a break, s, 0 for none', (0.0, _HOUR)),
    ('episode_limit_s', 0.0, "time limit of an episode, s, 0 for the task file's", (0.0, _HOUR)),
    ('reset_limit_s', 0.0, "time limit of a reset, s, 0 for the task file's", (0.0, _HOUR)),
)


@dataclass(frozen=True)
class Options:
    """The parameters' values, under their names."""

    rig: str
    tasks: str
    checks: str
    output: str
    session_id: str
    operators: str
    operator: str
    operator_id: str
    consent: bool
    session_kind: str
    task: str
    proposals: str
    policy_checkpoint: str
    checkpoints: list[str]
    repeats: int
    storage: str
    preroll_s: float
    arm_timeout_s: float
    clock_bound_ms: float
    disk_floor_mb: int
    episodes_per_block: int
    blocks: int
    break_s: float
    episode_limit_s: float
    reset_limit_s: float

    def person(self) -> Operator:
        """Return the operator, by name where a file of operators is given; SessionError."""
        if not self.operator:
            return Operator(self.operator_id, self.consent)
        if not self.operators:
            raise SessionError('parameter operators: expected the file that names the operator')
        return find_operator(Path(self.operators), self.operator)

    @property
    def kind(self) -> SessionKind:
        """Return the kind of session; SessionError for an unknown one."""
        try:
            return SessionKind(self.session_kind)
        except ValueError:
            kinds = ', '.join(kind.value for kind in SessionKind)
            raise SessionError(
                f"parameter session_kind: expected one of {kinds}, found '{self.session_kind}'"
            ) from None

    def trials(self, task: Task | None, session_id: str) -> tuple[Trial, ...]:
        """Return an evaluation's trials; SessionError for one without checkpoints."""
        if self.kind is not SessionKind.EVALUATION:
            return ()
        checkpoints = [name for name in self.checkpoints if name]
        if not checkpoints:
            raise SessionError('parameter checkpoints: expected what to evaluate, found none')
        places = [place.id for place in task.locations] if task else []
        return interleave(checkpoints, places, repeats=self.repeats, seed=session_id)

    def missing(self, task: Task | None) -> Proposals:
        """Return the places to ask for, none in an evaluation, whose trials say where; RigError.

        SessionError for proposals without a task as well.
        """
        if not self.proposals or self.kind is SessionKind.EVALUATION:
            return Proposals()
        if task is None:
            raise SessionError('parameter proposals: expected parameter task as well, found none')
        return read_proposals(Path(self.proposals), task)

    def plan(self, task: Task | None, proposals: tuple[Proposal, ...] = ()) -> Plan:
        """Return the session's plan: the parameters', completed by the task's.

        SessionError where the targets leave none of its episodes to the proposals.
        """
        limit = self.episode_limit_s or (task.time_limit_s if task else 0.0)
        reset = self.reset_limit_s or (task.reset_limit_s if task else 0.0)
        targets = {place.id: place.target for place in task.locations} if task else {}
        planned, wanted = self.episodes_per_block * self.blocks, sum(targets.values())
        if proposals and 0 < planned <= wanted:
            raise SessionError(
                f"{self.proposals}: the locations' targets ({wanted} episodes) come first and "
                f'take all {planned} of the plan: lower them, or leave out the proposals'
            )
        return Plan(
            episodes_per_block=self.episodes_per_block,
            blocks=self.blocks,
            episode_limit_ns=round(limit * NANOSECONDS),
            reset_limit_ns=round(reset * NANOSECONDS),
            break_ns=round(self.break_s * NANOSECONDS),
            targets=targets,
            proposals=proposals,
        )


def declare_options(node: Node) -> Options:
    """Declare every parameter and return the values; SessionError without a rig."""
    values = {}
    for name, default, description, bounds in _PARAMETERS:
        low, high = bounds or (None, None)
        values[name] = declare(node, name, default, description, low=low, high=high)
    options = Options(**values)
    if not options.rig:
        raise SessionError('parameter rig: expected the path of a rig file, found none')
    return options

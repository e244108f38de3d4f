# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Places where episodes are missing, as ``flywheel ask next --json`` tells them."""

from __future__ import annotations

from dataclasses import dataclass
import json
import math
from pathlib import Path

from recorder.exceptions import SessionError
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.rig.section import read_text, Section
from teleop_bridge.rig.tasks import Task

NEAR_M = 0.01
"""How close to a location a place is to count as it: about what placing by eye is off."""


@dataclass(frozen=True)
class Proposal:
    """A place to put the object: ``xy`` in the base frame, m, and the id of the nearest location.

    ``location`` is that id again where the place is within NEAR_M of it, and empty elsewhere.
    """

    xy: tuple[float, float]
    near: str = ''
    location: str = ''

    def __str__(self) -> str:
        near = f', near {self.near}' if self.near else ''
        return f'({self.xy[0]:.3f}, {self.xy[1]:.3f}) m{near}'


@dataclass(frozen=True)
class Proposals:
    """What one file proposes for one task, the emptiest region first."""

    places: tuple[Proposal, ...] = ()
    poses: int = 0  # left out: start poses of the robot, which no operator can be asked for


def read_proposals(path: Path, task: Task) -> Proposals:
    """Read the proposals for a task; those for other tasks are left out.

    Raises RigError for a file that can't be read or an entry that is incomplete, SessionError for
    one that is no list, names a location that the task lacks, or has nothing but poses.
    """
    try:
        entries = json.loads(read_text(path))
    except ValueError as error:
        raise SessionError(f"{path}: expected what 'ask next --json' says, {error}") from error
    if not isinstance(entries, list):
        raise SessionError(f'{path}: expected a list, found {type(entries).__name__}')
    places, poses = [], 0
    for number, entry in enumerate(entries):
        section = Section(entry, file=str(path), where=f'[{number}]')
        if section.text('task') != task.name:
            continue
        if section.text('basis').startswith('object'):
            places.append(_proposal(section, task))
        else:
            poses += 1
    if poses and not places:
        raise SessionError(
            f"{path}: expected places of the object for task '{task.name}', found only start "
            "poses of the robot, which no operator can be asked for: record the object's pose"
        )
    return Proposals(tuple(places), poses)


def _proposal(section: Section, task: Task) -> Proposal:
    start, near = section.numbers('start'), section.text('near', '')
    if len(start) != 2:
        section.fail('start', f'expected x and y, found {len(start)} numbers')
    xy = (start[0], start[1])
    try:
        xyz = task.location(near).xyz if near else None
    except FlywheelError as error:
        section.fail('near', str(error))
    close = xyz is not None and math.dist(xy, xyz[:2]) <= NEAR_M
    return Proposal(xy, near, near if close else '')

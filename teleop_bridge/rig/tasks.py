# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What changes daily beside the rig: tasks with their texts, object locations and reasons."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from teleop_bridge.exceptions import RigError
from teleop_bridge.rig.section import parse_yaml, read_text, Section

DEFAULT_REASONS = ('wrong object', 'wrong grasp', 'about to collide', 'too slow', 'other')


@dataclass(frozen=True)
class Location:
    """A place where the operator is asked to put the object; ``xyz`` in the base frame, m."""

    id: str
    description: str = ''
    xyz: tuple[float, float, float] | None = None
    target: int = 0  # episodes wanted here, 0 without a target


@dataclass(frozen=True)
class Task:
    """One task: ``text`` is the string that episodes carry."""

    name: str
    text: str
    locations: tuple[Location, ...] = ()
    reasons: tuple[str, ...] = DEFAULT_REASONS
    time_limit_s: float = 0.0  # of an episode, 0 without a limit
    reset_limit_s: float = 0.0

    def location(self, location_id: str) -> Location:
        """Return the location of that id; RigError, naming those that exist."""
        for location in self.locations:
            if location.id == location_id:
                return location
        known = ', '.join(location.id for location in self.locations) or 'none'
        raise RigError(f"task '{self.name}' has no location '{location_id}' (known: {known})")


@dataclass(frozen=True)
class Tasks:
    """The tasks of one file; ``text`` is that file, whole, as it goes into bags."""

    tasks: dict[str, Task]
    text: str = ''
    path: str = ''

    def task(self, name: str) -> Task:
        """Return the task of that name; RigError, naming those that exist, where there is none."""
        if name not in self.tasks:
            raise RigError(f"{self.path}: no task '{name}' (known: {', '.join(self.tasks)})")
        return self.tasks[name]


def load_tasks(path: Path | str) -> Tasks:
    """Read a task file; raises RigError naming file, key, what was expected and what was found."""
    path = Path(path)
    return parse_tasks(read_text(path), str(path))


def parse_tasks(text: str, path: str = 'tasks') -> Tasks:
    """Read tasks from their YAML text, such as the one that a bag carries; raises RigError."""
    top = parse_yaml(text, path)
    tasks = {name: _task(name, section) for name, section in top.named('tasks', required=True)}
    top.done()
    return Tasks(tasks, text=text, path=path)


def _task(name: str, section: Section) -> Task:
    task = Task(
        name,
        text=section.text('text'),
        locations=tuple(_location(key, entry) for key, entry in section.named('locations')),
        reasons=section.texts('reasons') or DEFAULT_REASONS,
        time_limit_s=section.number('time_limit_s', 0.0, low=0),
        reset_limit_s=section.number('reset_limit_s', 0.0, low=0),
    )
    section.done()
    return task


def _location(key: str, section: Section) -> Location:
    location = Location(
        key,
        description=section.text('description', ''),
        xyz=section.triple('xyz'),
        target=section.whole('target', 0),
    )
    section.done()
    return location

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A library of named scenarios: one small readable file beside the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
import json
import math
import os
from pathlib import Path
from typing import Any

from curation.exceptions import ScenarioError


class Kind(str, Enum):
    """Why a moment is worth keeping."""

    INTERVENTION = 'intervention'  # a person took over
    NEAR_MISS = 'near_miss'        # it went well at last, after retries
    FAILURE = 'failure'            # it did not go well


@dataclass(frozen=True)
class Scenario:
    """A span of one episode and the state that it starts from; times in ns, rad and m.

    ``cube`` is x, y and yaw of the object on the mat, None where the scene can't be rebuilt; the
    scenario is then judged by replay. ``solved_when`` says in words what counts.
    """

    name: str
    kind: Kind
    task: str
    episode_id: str
    bag: str
    start_ns: int
    end_ns: int
    joints: tuple[float, ...]
    cube: tuple[float, float, float] | None
    solved_when: str
    reason: str = ''

    def distance(self, other: Scenario) -> float:
        """Return how far apart two start states are: the object's place, m, else joints, rad."""
        if self.kind is not other.kind or self.task != other.task:
            return math.inf
        if self.cube and other.cube:
            return math.dist(self.cube[:2], other.cube[:2])
        if self.cube or other.cube or len(self.joints) != len(other.joints):
            return math.inf
        return math.dist(self.joints, other.joints)


def load_library(path: Path) -> list[Scenario]:
    """Read a library, empty where there is no file yet; ScenarioError names what is wrong."""
    if not path.exists():
        return []
    try:
        entries = json.loads(path.read_text(encoding='utf-8'))['scenarios']
        return [_scenario(entry) for entry in entries]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScenarioError(f'{path}: expected a scenario library, found {error!r}') from error


def save_library(path: Path, scenarios: Sequence[Scenario]) -> None:
    """Write a library, whole or not at all."""
    text = json.dumps({'scenarios': [asdict(s) for s in scenarios]}, indent=1, ensure_ascii=False)
    partial = path.with_name(f'{path.name}.{os.getpid()}')
    partial.write_text(text + '\n', encoding='utf-8')
    os.replace(partial, path)


def grow(
    known: Sequence[Scenario], found: Iterable[Scenario], *, distance: float
) -> tuple[list[Scenario], int]:
    """Return the library with what is new in it, and how many were near to one that it had.

    A scenario nearer than ``distance`` (m, or rad) to one of its kind tells nothing new.
    """
    grown, near = list(known), 0
    for scenario in found:
        if any(scenario.distance(other) < distance for other in grown):
            near += 1
            continue
        grown.append(replace(scenario, name=_unused(scenario.name, grown)))
    return grown, near


def _unused(name: str, scenarios: Sequence[Scenario]) -> str:
    names = {scenario.name for scenario in scenarios}
    number, candidate = 1, name
    while candidate in names:
        number += 1
        candidate = f'{name}_{number}'
    return candidate


def _scenario(entry: dict[str, Any]) -> Scenario:
    cube = entry['cube']
    return Scenario(
        **{
            **entry,
            'kind': Kind(entry['kind']),
            'joints': tuple(entry['joints']),
            'cube': None if cube is None else tuple(cube),
        }
    )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the array formats (robomimic, Zarr) share: options, values, facts, the same joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from curation.align.episode import Episode
from curation.exceptions import ExportError
from curation.export.action import ActionSource
from curation.export.images import require_whole, Shape

Progress = Callable[[str, int, int], None]


def no_progress(_what: str, _done: int, _of: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class ArrayOptions:
    """How to export: the images' shape, and which command is the action."""

    shape: Shape = field(default_factory=Shape)
    action: ActionSource = ActionSource.EXECUTED


ARRAY_DEFAULTS = ArrayOptions()


def facts_of(episode: Episode) -> dict[str, Any]:
    """Return what is worth knowing of an episode beside its samples; operators by pseudonym."""
    facts = episode.facts
    return {
        'content_id': episode.id,
        'bag': episode.name,
        'task': facts.task_text,
        'grade': facts.grade,
        'operator': facts.operator_id,
        'session': facts.session_id,
        'location': facts.location,
        'interventions': len(episode.interventions),
        'start_ns': int(episode.grid_ns[0]),
    }


def require_alike(episodes: Sequence[Episode]) -> None:
    """Raise ExportError, naming the episode, where some don't fit together or there are none."""
    if not episodes:
        raise ExportError('there is no episode to export')
    first = episodes[0]
    for episode in episodes:
        require_whole(episode)
        for what, found, expected in (
            ('joints', episode.rig.joint_names, first.rig.joint_names),
            ('cameras', episode.cameras, first.cameras),
            ('rate', f'{1e9 / episode.period_ns:.3f} Hz', f'{1e9 / first.period_ns:.3f} Hz'),
        ):
            if found != expected:
                raise ExportError(
                    f'{episode.name}: {what} {found}, but {first.name} has {expected}'
                )

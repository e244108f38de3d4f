# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Scenarios out of episodes: interventions, near-misses, failures."""

from __future__ import annotations

import math

import numpy as np

from curation.align.episode import Episode
from curation.scenarios.library import Kind, Scenario
from teleop_bridge.rig.schema import Role
from teleop_bridge.vocabulary import Grade

_ON_MAT_M = 0.03  # the height of an object's centre below which it lies on the mat


def harvest(episode: Episode) -> list[Scenario]:
    """Return an episode's scenarios: its interventions, else the whole attempt if it went badly.

    An intervention's begins where its window does: what the policy did wrong is in it.
    """
    if episode.interventions:
        return [
            _scenario(
                episode,
                Kind.INTERVENTION,
                i.begin_ns - i.pre_window_ns,
                i.end_ns or int(episode.grid_ns[-1]),
                i.reason,
            )
            for i in episode.interventions
        ]
    kinds = {
        Grade.SUCCESS_AFTER_RETRIES.value: Kind.NEAR_MISS,
        Grade.PARTIAL.value: Kind.FAILURE,
        Grade.FAILURE.value: Kind.FAILURE,
    }
    kind = kinds.get(episode.facts.grade)
    if kind is None:
        return []
    first, last = int(episode.grid_ns[0]), int(episode.grid_ns[-1])
    return [_scenario(episode, kind, first, last, '')]


def _scenario(episode: Episode, kind: Kind, start_ns: int, end_ns: int, reason: str) -> Scenario:
    row = int(np.clip(np.searchsorted(episode.grid_ns, start_ns), 0, len(episode) - 1))
    place = episode.facts.location or 'somewhere'
    return Scenario(
        name='_'.join(part.replace(' ', '_') for part in (kind.value, place, reason) if part),
        kind=kind,
        task=episode.facts.task,
        episode_id=episode.id,
        bag=episode.path,
        start_ns=start_ns,
        end_ns=end_ns,
        joints=tuple(float(value) for value in episode.state[row]),
        cube=_cube(episode, row),
        solved_when='the task is done by the policy alone',
        reason=reason,
    )


def _cube(episode: Episode, row: int) -> tuple[float, float, float] | None:
    """Return the object's x, y and yaw where it lies on the mat, else None."""
    for stream in episode.rig.by_role(Role.POSE):
        signal = episode.signals.get(stream.name)
        if signal is not None and signal.valid[row]:
            x, y, z, qx, qy, qz, qw = (float(value) for value in signal.values[row])
            yaw = math.atan2(2 * (qw * qz + qx * qy), 1 - 2 * (qy * qy + qz * qz))
            return (x, y, yaw) if z < _ON_MAT_M else None
    return None

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""An episode's curves and bands as plain numbers for a page; what is unknown becomes null."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.replay.divergence import Replayed
from curation.replay.run import Replays
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.schema import Role

MOST = 1500  # points per curve: more than a screen is wide


def curves(episode: Episode) -> dict[str, Any]:
    """Return times, joints with all that was proposed and executed, authority, staleness."""
    step = max(1, len(episode) // MOST)
    zero = int(episode.grid_ns[0])
    proposals = {
        'measured': episode.state,
        'executed': episode.action,
        'human proposes': episode.human,
        'policy proposes': episode.policy,
    }
    joints = [
        {
            'name': name,
            'curves': {
                label: _numbers(values[::step, column], 4)
                for label, values in proposals.items()
                if values is not None and np.isfinite(values[:, column]).any()
            },
        }
        for column, name in enumerate(episode.rig.joint_names)
    ]
    return {
        'times': _numbers((episode.grid_ns[::step] - zero) / NANOSECONDS, 3),
        'joints': joints,
        'authority': _numbers(episode.authority[::step], 3),
        'staleness': [
            {'name': name, 'values': _numbers(track.staleness_ns[::step] / 1e6, 1)}
            for name, track in episode.tracks.items()
            if track.valid.any() and track.stream.role is not Role.ACTION  # paired with the next
        ],
        'bands': [
            {
                'start': (entry.begin_ns - zero) / NANOSECONDS,
                'end': ((entry.end_ns or int(episode.grid_ns[-1])) - zero) / NANOSECONDS,
                'converged': None
                if entry.converged_ns is None
                else (entry.converged_ns - zero) / NANOSECONDS,
                'label': ': '.join(filter(None, (entry.kind, entry.reason))) or 'not named yet',
            }
            for entry in episode.interventions
        ],
    }


def divergence(replays: Replays, one: Replayed) -> dict[str, Any]:
    """Return each joint's divergence from what was executed, in spreads, at the curves' times."""
    step = max(1, len(one.episode) // MOST)
    zero = int(one.episode.grid_ns[0])
    seconds = (one.episode.grid_ns - zero) / NANOSECONDS
    return {
        'threshold': replays.threshold,
        'joints': [
            {'name': name, 'values': _numbers(one.divergence[::step, column], 3)}
            for column, name in enumerate(one.episode.rig.joint_names)
        ],
        'phases': [
            {'name': phase.name, 'start': float(seconds[phase.start]),
             'end': float(seconds[phase.stop - 1])}
            for phase in one.phases
        ],
    }


def _numbers(values: NDArray[np.float64], digits: int) -> list[float | None]:
    return [round(float(value), digits) if np.isfinite(value) else None for value in values]

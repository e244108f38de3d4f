# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Where in its task an episode is: phases between gripper events, split at pauses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.scores.grasps import closings, gripper_index

_SLOW = 0.1        # of the phase's peak speed: below it the arm pauses
_LEAST_REACH = 0.3  # of an approach: a pause earlier than this is its start


@dataclass(frozen=True)
class Phase:
    """Grid indices ``start`` to ``stop`` (excluded); ``count`` is 1 for the first of its kind."""

    kind: str   # reach, descend, carry or retreat; whole where there is no gripper event
    count: int
    start: int
    stop: int

    @property
    def name(self) -> str:
        """How people call it, such as "second descend"."""
        ordinals = {1: 'first', 2: 'second', 3: 'third'}
        return f'{ordinals.get(self.count, f"{self.count}th")} {self.kind}'


def phases(episode: Episode) -> list[Phase]:
    """Split an episode: reach and descend up to each closing, carry until it opens, retreat.

    A reach ends where the arm last pauses before the gripper closes; without a pause the whole
    approach is the reach. Without a gripper that moved there is one phase.
    """
    size = len(episode)
    gripper = gripper_index(episode.rig)
    closed, opened = _events(episode, gripper)
    if gripper is None or not len(closed):
        return [Phase('whole', 1, 0, size)]
    found: list[Phase] = []
    at = 0
    speed = _speed(episode, gripper)
    for count, close in enumerate(closed, 1):
        turn = _last_pause(speed, at, int(close))
        found.append(Phase('reach', count, at, turn))
        found.append(Phase('descend', count, turn, int(close)))
        later = opened[opened > close]
        at = int(later[0]) if len(later) else size
        found.append(Phase('carry', count, int(close), at))
    found.append(Phase('retreat', 1, at, size))
    return [phase for phase in found if phase.stop > phase.start]


def _events(
    episode: Episode, gripper: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if gripper is None or not len(episode) or not np.all(np.isfinite(episode.state[:, gripper])):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return closings(episode.state[:, gripper])


def _speed(episode: Episode, gripper: int) -> NDArray[np.float64]:
    arm = np.delete(episode.state, gripper, axis=1)
    speed = np.linalg.norm(np.gradient(arm, axis=0), axis=1) if len(arm) > 1 else np.zeros(1)
    return np.asarray(np.convolve(speed, np.ones(3) / 3, mode='same'))


def _last_pause(speed: NDArray[np.float64], start: int, close: int) -> int:
    """Return where the arm last leaves a pause before the final movement of an approach."""
    part = speed[start:close]
    if not len(part) or not part.max() > 0:
        return close
    moving = part > _SLOW * part.max()
    if not moving.any():
        return close
    last = int(np.flatnonzero(moving)[-1])          # the arm stands still while the jaws close
    still = np.flatnonzero(~moving[:last])
    if not len(still) or still[-1] < _LEAST_REACH * len(part):
        return close
    return start + int(still[-1]) + 1

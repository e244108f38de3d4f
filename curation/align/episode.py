# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""An episode on its grid: what alignment makes of one bag, and everything downstream reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.bag.model import Problem
from curation.exceptions import StreamError
from teleop_bridge.rig.schema import Camera, Rig, Stream

Times = NDArray[np.int64]
Values = NDArray[np.float64]
Image = NDArray[Any]


@dataclass(frozen=True)
class Track:
    """Which message of one stream each of the m grid times uses.

    ``indices`` (m,) counts the stream's messages in stamp order, -1 where ``valid`` is False;
    ``stamps_ns`` (m,) is that message's time and ``staleness_ns`` (m,) grid time minus it: never
    negative, except for an action that is paired with a later time (``Episode.action_lag_ns``).
    """

    stream: Stream
    indices: Times
    stamps_ns: Times
    staleness_ns: Times
    valid: NDArray[np.bool_]


@dataclass(frozen=True)
class Signal:
    """Named values on the grid: ``values`` (m, len(names)), NaN where not valid.

    ``staleness_ns`` (m, len(names)) is per value, since partial publishers are merged by name.
    """

    names: tuple[str, ...]
    values: Values
    staleness_ns: Times
    valid: NDArray[np.bool_]  # (m,)


@dataclass(frozen=True)
class Intervention:
    """One intervention, times in ns; ``converged_ns`` and ``end_ns`` are None where not seen."""

    id: str
    begin_ns: int
    converged_ns: int | None = None
    end_ns: int | None = None
    trigger: str = ''
    kind: str = ''
    reason: str = ''
    note: str = ''
    operator_id: str = ''
    pre_window_ns: int = 0


@dataclass(frozen=True)
class Facts:
    """What the recorder knew; empty for bags of other recorders.

    ``session`` and ``episode`` are the fields of recorder.facts.SessionFacts and EpisodeFacts.
    """

    session: Mapping[str, Any] = field(default_factory=dict)
    episode: Mapping[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """Return the task's name, empty where unknown."""
        return str(self.session.get('task', ''))

    @property
    def task_text(self) -> str:
        """Return the instruction that training uses, else the task's name."""
        return str(self.session.get('task_text', '') or self.task)

    @property
    def operator_id(self) -> str:
        """Return the operator's pseudonym."""
        return str(self.session.get('operator_id', ''))

    @property
    def session_id(self) -> str:
        """Return the session's id."""
        return str(self.session.get('session_id', ''))

    @property
    def location(self) -> str:
        """Return the id of the object location that was asked for."""
        return str(self.session.get('location', ''))

    @property
    def grade(self) -> str:
        """Return the grade that the operator gave, empty while ungraded."""
        return str(self.episode.get('grade', ''))


@dataclass(frozen=True)
class Episode:
    """One attempt on its grid of m times; joint vectors follow ``rig.joint_names`` (n joints).

    ``grid_ns`` (m,) int64. ``state``, ``action``, ``human`` and ``policy`` are (m, n), rad or m;
    NaN rows where ``valid`` masks them, None where the rig declares no such stream.
    ``authority`` (m,) is the human's weight, NaN where unknown. ``intervention_id`` has m
    entries, empty outside of interventions. ``signals`` holds all named values by stream name
    and, merged by joint, by role value (``state``, ``action``, ``human_proposal``,
    ``policy_proposal``). ``valid`` (m,) is False where a required stream was masked.
    """

    id: str  # content id of the bag
    name: str  # the bag's folder or file name
    path: str
    rig: Rig
    facts: Facts
    grid_ns: Times
    state: Values
    action: Values | None
    human: Values | None
    policy: Values | None
    authority: Values
    intervention_id: tuple[str, ...]
    interventions: tuple[Intervention, ...]
    tracks: Mapping[str, Track]
    signals: Mapping[str, Signal]
    valid: NDArray[np.bool_]
    action_lag_ns: Times  # (m,) action stamp minus grid time
    period_ns: float  # of the grid; the median for an event-driven one
    problems: tuple[Problem, ...] = ()
    part: int = 0  # number of this part where gaps split the bag
    frames: Mapping[str, Callable[[int], Image]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.grid_ns)

    @property
    def duration_ns(self) -> int:
        """Return the time from the first to the last grid time, ns."""
        return int(self.grid_ns[-1] - self.grid_ns[0]) if len(self.grid_ns) else 0

    @property
    def staleness_ns(self) -> dict[str, Times]:
        """Return each stream's staleness (m,), ns."""
        return {name: track.staleness_ns for name, track in self.tracks.items()}

    @property
    def indices(self) -> dict[str, Times]:
        """Return each stream's message index (m,), -1 where masked."""
        return {name: track.indices for name, track in self.tracks.items()}

    @property
    def cameras(self) -> tuple[str, ...]:
        """Return the names of the cameras whose images the bag holds."""
        return tuple(c.name for c in self.rig.cameras if c.image in self.frames)

    def frame(self, camera: str, i: int) -> Image:
        """Return a camera's image at grid index ``i``: (height, width, 3) uint8, RGB.

        Raises StreamError where there is no such camera or the frame is masked, DecodeError where
        the image is broken.
        """
        return self._image(camera, self.rig_camera(camera).image, i)

    def depth(self, camera: str, i: int) -> Image:
        """Return a camera's depth image at grid index ``i``: uint16 in mm or float32 in m."""
        return self._image(camera, self.rig_camera(camera).depth or '', i)

    def rig_camera(self, camera: str) -> Camera:
        """Return the rig's camera of that name; StreamError where there is none."""
        for candidate in self.rig.cameras:
            if candidate.name == camera:
                return candidate
        known = ', '.join(c.name for c in self.rig.cameras) or 'none'
        raise StreamError(f"{self.name}: no camera '{camera}' (known: {known})")

    def _image(self, camera: str, stream: str, i: int) -> Image:
        if stream not in self.frames:
            raise StreamError(
                f"{self.name}: camera '{camera}' has no such image stream in the bag"
            )
        index = int(self.tracks[stream].indices[i])
        if index < 0:
            raise StreamError(
                f"{self.name}: camera '{camera}' has no fresh image at grid index {i}"
            )
        return self.frames[stream](index)

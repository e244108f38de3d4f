# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a recorder is made with, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from recorder.evaluation import Trial
from recorder.session import Plan
from teleop_bridge.rig.schema import Rig
from teleop_bridge.rig.tasks import Task
from teleop_bridge.vocabulary import SessionKind, SessionState


@dataclass(frozen=True)
class RecorderOptions:
    """What one session of recording is made with."""

    rig: Rig
    output: Path
    session_id: str
    operator_id: str = ''
    consent: bool = True
    kind: SessionKind = SessionKind.COLLECTION
    task: Task | None = None
    tasks_text: str = ''
    checks_text: str = ''
    policy_checkpoint: str = ''
    storage: str = ''  # rosbag2, mcap or empty for the better one
    disk_floor: int = 1_000_000_000  # bytes; below it the episode in hand is closed
    plan: Plan = field(default_factory=Plan)
    trials: tuple[Trial, ...] = ()  # of an evaluation
    write_rate: float = 0.0  # bytes per second that the disk takes, 0 if not measured


@dataclass(frozen=True)
class Outcome:
    """What a command did, in one line, and to which bag."""

    message: str
    bag: Path | None = None
    episode_id: str = ''


@dataclass(frozen=True)
class Status:
    """The recorder at one instant; times in ns."""

    state: SessionState
    since_ns: int
    limit_ns: int
    location: str
    episode_index: int
    block: int
    done: int
    target: int
    bag: Path | None
    grade: str
    messages: int
    lost: int
    message: str

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Words that cross module and process borders: grades, kinds, triggers, phases, states."""

from __future__ import annotations

from enum import Enum, IntEnum


class Grade(str, Enum):
    """How an episode ended; the value is what messages and bags carry."""

    SUCCESS_FIRST_TRY = 'success_first_try'
    SUCCESS_AFTER_RETRIES = 'success_after_retries'
    PARTIAL = 'partial'
    FAILURE = 'failure'


class SessionKind(str, Enum):
    """What a session is for."""

    COLLECTION = 'collection'
    EVALUATION = 'evaluation'  # graded, checkpoints blinded
    DRY_RUN = 'dry_run'  # nothing is recorded


class InterventionKind(str, Enum):
    """Why a person corrected the policy."""

    SAFETY = 'safety'
    GOAL = 'goal'
    QUALITY = 'quality'


class Trigger(str, Enum):
    """What began or ended an intervention."""

    BUTTON = 'button'
    SERVICE = 'service'
    LEADER_MOTION = 'leader_motion'
    LOAD = 'load'
    CONFIDENCE = 'confidence'


class InterventionEvent(IntEnum):
    """The stamped events of one intervention: the values of Intervention.msg."""

    BEGIN = 0
    CONVERGED = 1
    END = 2
    LABEL = 3


class Phase(IntEnum):
    """Who commands the follower: the values of Authority.msg."""

    POLICY = 0
    TO_HUMAN = 1
    HUMAN = 2
    TO_POLICY = 3
    HOLD = 4
    STARTUP = 5
    ESTOP = 6


class SessionState(IntEnum):
    """What the recorder is doing: the values of EpisodeStatus.msg."""

    IDLE = 0
    ARMED = 1
    RECORDING = 2
    RESET = 3
    BREAK = 4
    STOPPED = 5

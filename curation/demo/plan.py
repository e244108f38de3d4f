# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the demo shows: one attempt after another, each with what the operator does in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from teleop_bridge.vocabulary import Grade, InterventionKind


class Ending(Enum):
    """How an attempt ends."""

    KEPT = 'kept'            # the operator finishes and grades it
    CANCELLED = 'cancelled'  # the operator gives up half-way and records it again


class Driver(Enum):
    """Who drives when an attempt begins."""

    HUMAN = 'human'
    POLICY = 'policy'        # the operator takes over when it fails, corrects, hands back


@dataclass(frozen=True)
class Attempt:
    """One attempt: what is shown, how the scripted operator acts, and how it is graded."""

    title: str
    script: str              # the scripted operator's: clean, fumble, jerky, correction, pedal
    seed: int
    location: str            # of the task: where the cube lies at the start
    yaw: float               # of the cube, rad about the vertical
    grade: Grade             # where the cube is in the bin at the end, else failure
    note: str = ''
    skill: str = 'better'
    driver: Driver = Driver.HUMAN
    ending: Ending = Ending.KEPT


@dataclass(frozen=True)
class Reason:
    """What the operator says of the intervention afterwards."""

    kind: InterventionKind
    reason: str
    note: str


TASK = 'pick_place'
OPERATOR = 'op_demo'
POLICY = 'teleop_bridge.sim.flawed:FlawedPolicy'
CANCEL_AFTER_S = 4.0
CORRECTION = Reason(InterventionKind.GOAL, 'grasp missed', 'the policy closed beside the cube')

PLAN = (
    Attempt(
        'clean, cube near',
        script='clean',
        seed=11,
        location='near_centre',
        yaw=0.3,
        grade=Grade.SUCCESS_FIRST_TRY,
    ),
    Attempt(
        'clean, cube to the right',
        script='clean',
        seed=12,
        location='middle_right',
        yaw=-0.4,
        grade=Grade.SUCCESS_FIRST_TRY,
    ),
    Attempt(
        'first grasp fumbled',
        script='fumble',
        seed=13,
        location='far_centre',
        yaw=0.1,
        grade=Grade.SUCCESS_AFTER_RETRIES,
        note='the first grasp slipped',
    ),
    Attempt(
        'jerky hand',
        script='jerky',
        skill='worse',
        seed=14,
        location='middle_half_right',
        yaw=-0.2,
        grade=Grade.SUCCESS_FIRST_TRY,
    ),
    Attempt(
        'cancelled half-way',
        script='clean',
        skill='okay',
        seed=15,
        location='far_half_right',
        yaw=0.5,
        grade=Grade.FAILURE,
        note='someone bumped the table',
        ending=Ending.CANCELLED,
    ),
    Attempt(
        'recorded again',
        script='clean',
        skill='okay',
        seed=16,
        location='far_half_right',
        yaw=0.5,
        grade=Grade.SUCCESS_FIRST_TRY,
    ),
    Attempt(
        'flawed policy, corrected by moving the leader',
        script='correction',
        seed=17,
        location='middle_centre',
        yaw=0.2,
        grade=Grade.SUCCESS_AFTER_RETRIES,
        note='the policy missed the cube',
        driver=Driver.POLICY,
    ),
    Attempt(
        'flawed policy, corrected by pedal',
        script='pedal',
        seed=18,
        location='middle_centre',
        yaw=-0.1,
        grade=Grade.SUCCESS_AFTER_RETRIES,
        note='the policy missed the cube',
        driver=Driver.POLICY,
    ),
)

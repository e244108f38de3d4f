# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Grades are proposed from grasps and from where the object ended, and compared with people's."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np

from curation.scores.proposal import agreement, propose_grades
from curation.scores.score import measure, Score
from support.episodes import make_episode

BASE = replace(
    measure(make_episode()), interventions=0, grasps=1, coverage_basis='object position (cube)'
)
RNG = np.random.default_rng(0)


def score(
    end: tuple[float, float], grade: str, *, grasps: int = 1, interventions: int = 0
) -> Score:
    final = np.array([*end, 0.0]) + RNG.normal(0, 0.002, 3)
    return replace(
        BASE, initial=np.array([0.2, 0.0, 0.0]), final=final, grade=grade, grasps=grasps,
        interventions=interventions,
    )


GOOD = [score((0.1, 0.2), 'success_first_try') for _ in range(5)]


def test_ends_grasps_and_interventions_decide() -> None:
    others = [
        score((0.1, 0.2), '', grasps=2),
        score((0.1, 0.2), '', interventions=1),
        score((0.15, 0.1), ''),
        score((0.2, 0.0), ''),
    ]
    assert propose_grades([*GOOD, *others])[5:] == [
        'success_after_retries', 'success_after_retries', 'partial', 'failure'
    ]


def test_agreement_counts_what_both_say() -> None:
    found = agreement([*GOOD, score((0.2, 0.0), 'failure'), score((0.2, 0.0), 'partial')])
    assert (found.agreed, found.compared) == (6, 7)
    assert found.pairs['partial', 'failure'] == 1


def test_without_an_object_or_enough_successes_nothing_is_proposed() -> None:
    assert propose_grades(GOOD[:3]) == [''] * 3
    joints = [replace(s, coverage_basis='robot joints') for s in GOOD]
    assert propose_grades(joints) == [''] * 5
    assert math.isnan(agreement(joints).rate)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A grade proposed from the streams, shown beside the operator's and never in place of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curation.scores.among import FEW
from curation.scores.score import Score
from teleop_bridge.vocabulary import Grade

_SUCCESSES = (Grade.SUCCESS_FIRST_TRY.value, Grade.SUCCESS_AFTER_RETRIES.value)
_LEAST_M = 0.03  # an object nearer to where successes end is there, one that moved less lay still


@dataclass(frozen=True)
class Agreement:
    """How often proposals are the operators' grades; ``pairs`` counts (grade, proposal)."""

    compared: int
    agreed: int
    pairs: dict[tuple[str, str], int]

    @property
    def rate(self) -> float:
        """Return the share that agrees, NaN where nothing can be compared."""
        return self.agreed / self.compared if self.compared else float('nan')


def propose_grades(scores: Sequence[Score]) -> list[str]:
    """Return a grade for each, empty where the streams don't tell.

    They tell where an object's pose is recorded and four graded successes of the task show where
    it belongs: within three robust deviations of their median. It got there on the first try with
    one closing of the gripper and no intervention. Elsewhere it was moved (partial) or not
    (failure).
    """
    proposals = [''] * len(scores)
    for task in {score.task for score in scores}:
        members = [i for i, s in enumerate(scores) if s.task == task and _told(s)]
        ends = np.array([scores[i].final for i in members if scores[i].grade in _SUCCESSES])
        if len(ends) < FEW:
            continue
        goal = np.median(ends, axis=0)
        deviation = float(np.median(np.linalg.norm(ends - goal, axis=1)))
        within = max(3 * 1.4826 * deviation, _LEAST_M)
        for index in members:
            proposals[index] = _propose(scores[index], goal, within).value
    return proposals


def agreement(scores: Sequence[Score]) -> Agreement:
    """Compare the proposals with the grades that operators gave."""
    pairs: dict[tuple[str, str], int] = {}
    for score, proposal in zip(scores, propose_grades(scores), strict=True):
        if score.grade and proposal:
            key = score.grade, proposal
            pairs[key] = pairs.get(key, 0) + 1
    agreed = sum(count for (grade, proposal), count in pairs.items() if grade == proposal)
    return Agreement(sum(pairs.values()), agreed, pairs)


def _told(score: Score) -> bool:
    known = bool(np.isfinite(score.final).all() and np.isfinite(score.initial).all())
    return score.coverage_basis.startswith('object') and known and score.grasps is not None


def _propose(score: Score, goal: np.ndarray, within: float) -> Grade:
    if float(np.linalg.norm(score.final - goal)) <= within:
        again = (score.grasps or 0) > 1 or score.interventions
        return Grade.SUCCESS_AFTER_RETRIES if again else Grade.SUCCESS_FIRST_TRY
    moved = float(np.linalg.norm(score.final - score.initial)) > _LEAST_M
    return Grade.PARTIAL if moved else Grade.FAILURE

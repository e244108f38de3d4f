# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Keep, review or drop, and why: plain rules over a score, and sentences for the operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
import math

import numpy as np

from curation.scores.score import Score
from teleop_bridge.vocabulary import Grade

FEW = 4  # episodes of a task below which nothing is compared with the others


class Verdict(str, Enum):
    """What to do with an episode."""

    KEEP = 'keep'
    REVIEW = 'review'
    DROP = 'drop'


@dataclass(frozen=True)
class Rules:
    """Thresholds of the verdict."""

    slow_ratio: float = 1.6         # duration against the task's median
    fast_ratio: float = 0.5
    rough_distance: float = 3.0     # below the task's median smoothness, in robust deviations
    near_copy: float = 0.005        # of an earlier initial state, in its unit


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reasons, and one or two sentences an operator can act on."""

    verdict: Verdict
    reasons: tuple[str, ...]
    sentences: tuple[str, ...]


def judge(score: Score, among: Sequence[Score], rules: Rules = Rules()) -> Judgement:
    """Judge one score among those of its task, itself included or not."""
    peers = [other for other in among if other.task == score.task]
    drop = ['the operator graded it a failure'] if score.grade == Grade.FAILURE.value else []
    review = _flags(score, peers, rules)
    verdict = Verdict.DROP if drop else Verdict.REVIEW if review else Verdict.KEEP
    return Judgement(verdict, (*drop, *review), tuple(_sentences(score, peers, review)))


def _flags(score: Score, peers: Sequence[Score], rules: Rules) -> list[str]:
    flags = []
    if not score.grade:
        flags.append('it has no grade')
    if score.grade == Grade.PARTIAL.value:
        flags.append('the task was done in part')
    if score.problems or score.masked:
        flags.append('messages were lost or too old')
    if score.unnamed_interventions:
        flags.append('an intervention has no reason yet')
    if len(peers) >= FEW:
        if score.duration_ratio > rules.slow_ratio:
            flags.append(f"it took {score.duration_ratio:.1f} times the task's median")
        if score.duration_ratio < rules.fast_ratio:
            flags.append(f"it took only {score.duration_ratio:.1f} of the task's median")
        if _roughness(score, peers) > rules.rough_distance:
            flags.append('it is much less smooth than the others')
    if score.coverage_gain < rules.near_copy:
        flags.append('its initial state is nearly one that was recorded before')
    return flags


def _roughness(score: Score, peers: Sequence[Score]) -> float:
    """Return how far below the peers' median it lies, in robust standard deviations."""
    values = np.array([peer.smoothness.ranking for peer in peers])
    values = values[np.isfinite(values)]
    if len(values) < FEW or not math.isfinite(score.smoothness.ranking):
        return 0.0
    median = float(np.median(values))
    deviation = max(1.4826 * float(np.median(np.abs(values - median))), 0.3)
    return (median - score.smoothness.ranking) / deviation


def _sentences(score: Score, peers: Sequence[Score], review: list[str]) -> list[str]:
    sentences = []
    if score.grasps is not None and score.grasps > 1:
        sentences.append(f'{score.grasps} grasp attempts.')
    if len(peers) >= FEW and score.duration_ratio > 1.2:
        slower = round(100 * (score.duration_ratio - 1))
        sentences.append(f'{slower} % slower than the median of this task.')
    if score.interventions:
        plural = '' if score.interventions == 1 else 's'
        sentences.append(f'{score.interventions} intervention{plural}.')
    if not sentences and not review:
        sentences.append('A clean episode.')
    sentences.extend(f'{flag[0].upper()}{flag[1:]}.' for flag in review)
    return sentences

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Keep, review or drop, and why: rules over a score among others, sentences for the operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curation.scores.among import FEW, percentile_among, roughness_among
from curation.scores.rules import Facts, load_rules, Rules, Verdict
from curation.scores.score import Score

__all__ = ['Judgement', 'Verdict', 'facts_of', 'judge']


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reasons, and one or two sentences an operator can act on."""

    verdict: Verdict
    reasons: tuple[str, ...]
    sentences: tuple[str, ...]


def judge(score: Score, among: Sequence[Score], rules: Rules | None = None) -> Judgement:
    """Judge one score among those of its task, itself included or not."""
    peers = [other for other in among if other.task == score.task]
    verdict, reasons = (rules or load_rules()).decide(facts_of(score, peers))
    return Judgement(verdict, reasons, tuple(_sentences(score, peers, verdict, reasons)))


def facts_of(score: Score, peers: Sequence[Score]) -> Facts:
    """Return what rules can ask of a score among the scores of its task."""
    rankings = np.array([peer.smoothness.ranking for peer in peers], float)
    durations = np.array([peer.duration_s for peer in peers], float)
    smoothness, duration = np.array([score.smoothness.ranking]), np.array([score.duration_s])
    return {
        'task': score.task,
        'grade': score.grade,
        'operator': score.operator_id,
        'location': score.location,
        'duration_s': score.duration_s,
        'duration_ratio': score.duration_ratio,
        'duration_percentile': float(percentile_among(duration, durations)[0]),
        'smoothness': score.smoothness.ranking,
        'smoothness_percentile': float(percentile_among(smoothness, rankings)[0]),
        'roughness': float(roughness_among(smoothness, rankings)[0]),
        'coverage_gain': score.coverage_gain,
        'grasps': score.grasps,
        'idle_share': score.idle_share,
        'human_share': score.human_share,
        'interventions': score.interventions,
        'unnamed_interventions': score.unnamed_interventions,
        'lost': score.problems + score.masked,
        'peers': len(peers),
    }


def _sentences(
    score: Score, peers: Sequence[Score], verdict: Verdict, reasons: Sequence[str]
) -> list[str]:
    sentences = []
    if score.grasps is not None and score.grasps > 1:
        sentences.append(f'{score.grasps} grasp attempts.')
    if len(peers) >= FEW and score.duration_ratio > 1.2:
        slower = round(100 * (score.duration_ratio - 1))
        sentences.append(f'{slower} % slower than the median of this task.')
    if score.interventions:
        plural = '' if score.interventions == 1 else 's'
        sentences.append(f'{score.interventions} intervention{plural}.')
    if not sentences and verdict is Verdict.KEEP:
        sentences.append('A clean episode.')
    sentences.extend(f'{reason[0].upper()}{reason[1:]}.' for reason in reasons)
    return sentences

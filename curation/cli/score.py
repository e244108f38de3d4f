# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel score``: the four axes of each episode, looked at jointly."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
import math
from pathlib import Path

from curation.align.episode import Episode
from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_alignment, add_bags, add_executor, aligned
from curation.scores.information import information
from curation.scores.proposal import agreement, propose_grades
from curation.scores.rules import load_rules
from curation.scores.score import score_all
from curation.scores.verdict import judge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    add_alignment(parser)
    add_executor(parser)
    parser.add_argument(
        '--information', action='store_true',
        help="also what states tell of actions (in nats, among a task's episodes)")
    parser.add_argument('--rules', type=Path, help='rules file (the installed one)')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Score all episodes against each other."""
    failures: list[str] = []
    episodes = list(aligned(arguments, output, failures))
    scores = score_all(episodes)
    told = _information(episodes) if arguments.information else [math.nan] * len(episodes)
    rules = load_rules(arguments.rules)
    judgements = [judge(score, scores, rules) for score in scores]
    proposals = propose_grades(scores)
    output.table(
        ('episode', 'grade', 'proposed', 'duration', 'of median', 'smoothness', 'coverage',
         'verdict', 'why'),
        [
            (
                score.name,
                score.grade or 'ungraded',
                proposal or '–',
                f'{score.duration_s:.1f} s',
                f'{score.duration_ratio:.2f}',
                f'{score.smoothness.ranking:.2f}',
                f'{score.coverage_gain:.3f}',
                judgement.verdict.value,
                '; '.join(judgement.reasons),
            )
            for score, judgement, proposal in zip(scores, judgements, proposals, strict=True)
        ],
    )
    if arguments.information:
        ranked = sorted(zip(told, scores, strict=True), key=lambda pair: pair[0])
        output.table(
            ('episode', 'information, nats'),
            [(score.name, f'{nats:.2f}') for nats, score in ranked],
        )
    agreed = agreement(scores)
    if agreed.compared:
        output.line(f'{agreed.agreed} of {agreed.compared} grades are as the streams propose')
    output.document(
        [
            {
                **asdict(score),
                'initial': score.initial.tolist(),
                'final': score.final.tolist(),
                'proposed_grade': proposal,
                'information': nats,
                'verdict': judgement.verdict.value,
                'reasons': judgement.reasons,
                'sentences': judgement.sentences,
            }
            for score, judgement, proposal, nats in zip(
                scores, judgements, proposals, told, strict=True)
        ]
    )
    return Exit.BAD_DATA if failures else Exit.OK


def _information(episodes: Sequence[Episode]) -> list[float]:
    """Return what states tell of actions, among the episodes of a task and rig."""
    found = [math.nan] * len(episodes)
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for index, episode in enumerate(episodes):
        key = episode.facts.task, episode.rig.joint_names
        groups.setdefault(key, []).append(index)
    for members in groups.values():
        values = information([episodes[index] for index in members])
        for index, value in zip(members, values, strict=True):
            found[index] = float(value)
    return found

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel score``: the four axes of each episode, looked at jointly."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_alignment, add_bags, aligned
from curation.scores.proposal import agreement, propose_grades
from curation.scores.rules import load_rules
from curation.scores.score import score_all
from curation.scores.verdict import judge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    add_alignment(parser)
    parser.add_argument('--rules', type=Path, help='rules file (the installed one)')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Score all episodes against each other."""
    failures: list[str] = []
    scores = score_all(list(aligned(arguments, output, failures)))
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
                'verdict': judgement.verdict.value,
                'reasons': judgement.reasons,
                'sentences': judgement.sentences,
            }
            for score, judgement, proposal in zip(scores, judgements, proposals, strict=True)
        ]
    )
    return Exit.BAD_DATA if failures else Exit.OK

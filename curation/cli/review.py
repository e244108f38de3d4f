# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel review``: step through what rules or findings flagged, and say what becomes of it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
import getpass
from pathlib import Path
import sys
from typing import Any

from curation.catalog.annotations import span_of, What
from curation.catalog.reviewing import Review
from curation.cli.catalogs import add_data, catalog_of
from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.exceptions import UsageError
from curation.scores.rules import load_rules


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_data(parser)
    parser.add_argument('--by', default=getpass.getuser(), help='your pseudonym (%(default)s)')
    parser.add_argument('--task', default='', help='of this task only')
    parser.add_argument('--rules', type=Path, help='rules file (the installed one)')
    parser.add_argument('--all', action='store_true', help='not only what is flagged')
    parser.add_argument('--list', action='store_true', help='list what is flagged, and leave')
    parser.add_argument('--episode', help='say something of this one: its id, or how it begins')
    said = parser.add_mutually_exclusive_group()
    said.add_argument('--keep', action='store_true')
    said.add_argument('--drop', action='store_true')
    said.add_argument('--clear', action='store_true', help='leave it to the rules again')
    said.add_argument('--grade', help='another one')
    said.add_argument('--note', help='a text')
    said.add_argument('--reason', nargs=3, metavar=('INTERVENTION', 'KIND', 'REASON'))
    said.add_argument('--span', nargs='+', metavar='START_S END_S GOAL [STEP]',
                      help='a part of the task')
    said.add_argument('--undo', nargs='?', const='', metavar='ANNOTATION', help='the last one')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Say one thing, list, or step through."""
    review = Review(
        catalog_of(arguments), arguments.data, load_rules(arguments.rules), by=arguments.by,
        task=arguments.task, everything=arguments.all,
    )  # fmt: skip
    if arguments.episode:
        return _say(arguments, review, output)
    if _said(arguments) is not None or arguments.undo is not None:
        raise UsageError('expected --episode with what is said')
    if arguments.list or output.json or not sys.stdout.isatty():
        flagged = [review.flagged(index) for index in range(len(review))]
        output.table(
            ('episode', 'grade', 'why', 'bag'),
            [(f.id[:12], f.grade, '; '.join(f.reasons), f.path) for f in flagged],
        )
        output.line(f'{len(flagged)} to review')
        output.document([{**asdict(f), 'path': str(f.path)} for f in flagged])
        return Exit.OK
    from curation.catalog.review_app import ReviewApp

    ReviewApp(review).run()
    return Exit.OK


def _say(arguments: argparse.Namespace, review: Review, output: Output) -> Exit:
    episode = review.find(arguments.episode)
    said = _said(arguments)
    if arguments.undo is not None:
        review.undo(episode.id, arguments.undo)
    elif said is not None:
        review.say(episode.id, *said)
    history = review.history(episode.id)
    output.table(
        ('annotation', 'at', 'by', 'what', 'value'),
        [(a.id, a.at[:19], a.by, a.what.value, a.value) for a in history],
    )
    now = review.find(episode.id)
    output.line(f'{now.name}: {now.grade or "ungraded"}, {now.verdict or "as the rules say"}')
    output.document(
        {
            'episode': now.id, 'grade': now.grade, 'verdict': now.verdict,
            'history': [{**asdict(a), 'what': a.what.value} for a in history],
        }
    )  # fmt: skip
    return Exit.OK


def _said(arguments: argparse.Namespace) -> tuple[What, Any] | None:
    if arguments.keep or arguments.drop or arguments.clear:
        verdict = 'keep' if arguments.keep else 'drop' if arguments.drop else ''
        return What.VERDICT, verdict
    if arguments.grade is not None:
        return What.GRADE, arguments.grade
    if arguments.note is not None:
        return What.NOTE, arguments.note
    if arguments.reason:
        intervention, kind, reason = arguments.reason
        return What.REASON, {'intervention': intervention, 'kind': kind, 'reason': reason}
    if arguments.span:
        return What.SPAN, span_of(arguments.span)
    return None

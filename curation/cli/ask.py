# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel ask``: one question about the episodes of a catalog, one table."""

from __future__ import annotations

import argparse

from curation.catalog.questions import ask, Asked, QUESTIONS
from curation.cli.catalogs import existing_catalog
from curation.cli.exits import Exit
from curation.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('question', choices=QUESTIONS, help=', '.join(QUESTIONS))
    parser.add_argument('catalog', help='data folder, catalog file or database URL')
    parser.add_argument('--task', default='', help='of this task only')
    parser.add_argument('--checkpoint', default='', help='of this checkpoint (or its beginning)')
    parser.add_argument('--finding', default='', help='findings: the one to list')
    parser.add_argument('--days', type=float, default=0, help='only the last days of data')
    parser.add_argument('--count', type=int, default=5, help='next: proposals a task (5)')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Answer."""
    asked = Asked(
        task=arguments.task,
        checkpoint=arguments.checkpoint,
        finding=arguments.finding,
        days=arguments.days,
        count=arguments.count,
    )
    with existing_catalog(arguments.catalog).begin() as connection:
        found = ask(connection, arguments.question, asked)
    output.table([column.replace('_', ' ') for column in found.columns], found.texts())
    if found.note:
        output.line(found.note)
    output.document(found.documents())
    return Exit.OK

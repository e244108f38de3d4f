# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel info``: what bags hold, or in one line why one can't be read."""

from __future__ import annotations

import argparse
from typing import Any

from curation.bag.find import find_bags
from curation.bag.reader import BagReader, open_bag
from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_paths
from curation.exceptions import CurationError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_paths(parser)
    parser.add_argument('--id', action='store_true', help='content ids too (reads bags whole)')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Describe every bag; those that can't be read are named and don't stop the rest."""
    documents: list[dict[str, Any]] = []
    failed = False
    for path in find_bags(arguments.paths):
        try:
            with open_bag(path) as bag:
                document = _describe(bag, with_id=arguments.id)
        except CurationError as error:
            failed = True
            output.error(str(error))
            documents.append({'path': str(path), 'error': str(error)})
            continue
        documents.append(document)
        _show(document, output)
    output.document(documents)
    return Exit.BAD_DATA if failed else Exit.OK


def _describe(bag: BagReader, *, with_id: bool) -> dict[str, Any]:
    document: dict[str, Any] = {
        'path': str(bag.path),
        'start_ns': bag.start_ns,
        'end_ns': bag.end_ns,
        'duration_s': bag.duration_ns / 1e9,
        'messages': bag.message_count,
        'topics': [
            {'name': topic.name, 'type': topic.type, 'messages': topic.count}
            for topic in sorted(bag.topics.values(), key=lambda topic: topic.name)
        ],
        'custom_data': sorted(bag.custom_data),
    }
    if with_id:
        document['id'] = bag.content_id
    for key, lost in (('problems', True), ('remarks', False)):
        document[key] = [problem.text for problem in bag.problems if problem.lost is lost]
    return document


def _show(document: dict[str, Any], output: Output) -> None:
    count = document['messages']
    output.line(
        f'{document["path"]}: {document["duration_s"]:.2f} s, '
        f'{"unknown number of" if count is None else count} messages, '
        f'{len(document["topics"])} topics'
    )
    for key, text in (('id', 'id'), ('custom_data', 'carries')):
        if document.get(key):
            value = document[key]
            output.line(f'  {text}: {value if isinstance(value, str) else ", ".join(value)}')
    output.table(
        ('  topic', 'type', 'messages'),
        [
            (
                f'  {topic["name"]}',
                topic['type'],
                '?' if topic['messages'] is None else topic['messages'],
            )
            for topic in document['topics']
        ],
    )
    for key in ('problem', 'remark'):
        for text in document[f'{key}s']:
            output.line(f'  {key}: {text}')

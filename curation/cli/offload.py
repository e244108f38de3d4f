# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel offload``: bags to another disk or host, verified there before freed here."""

from __future__ import annotations

import argparse
from typing import Any

from curation.bag.find import find_bags
from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_paths
from recorder.exceptions import RecorderError
from recorder.offload import offload


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_paths(parser)
    parser.add_argument(
        '--to', required=True, metavar='FOLDER', help='FOLDER or HOST:FOLDER (ssh)'
    )
    parser.add_argument('--free', action='store_true', help='remove here what is verified there')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Copy every bag; one that fails is named, stays here and does not stop the rest."""
    documents: list[dict[str, Any]] = []
    failed = False
    bags = find_bags(arguments.paths)
    with output.progress('bags') as advance:
        for number, bag in enumerate(bags, start=1):
            try:
                done = offload(bag, arguments.to, free=arguments.free)
                documents.append(
                    {
                        'path': str(bag),
                        'target': done.target,
                        'id': done.id,
                        'copied': done.copied,
                        'freed': done.freed,
                    }
                )
            except RecorderError as error:
                failed = True
                output.error(str(error))
                documents.append({'path': str(bag), 'error': str(error)})
            advance(number, len(bags))
    moved = [document for document in documents if 'target' in document]
    output.line(
        f'{len(moved)} of {len(bags)} bags are verified at {arguments.to}'
        + (', freed here' if arguments.free else '')
    )
    output.document(documents)
    return Exit.BAD_DATA if failed else Exit.OK

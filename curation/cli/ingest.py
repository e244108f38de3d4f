# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel ingest``: bring bags into a catalog, those that it does not know yet."""

from __future__ import annotations

import argparse
from functools import partial

from curation.catalog.database import open_catalog
from curation.catalog.ingest import clear, ingest
from curation.catalog.record import SOURCES
from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_bags, add_executor, executor_of
from curation.exceptions import UsageError
from curation.remote import local_path, Url
from teleop_bridge.rig.loader import load_rig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    parser.add_argument(
        '--catalog', help='folder, file or URL such as postgresql://host/db (the first PATH)'
    )
    parser.add_argument('--source', default='', choices=SOURCES, help='label of where from')
    parser.add_argument('--rebuild', action='store_true', help='throw all rows away first')
    add_executor(parser)


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Ingest, and say how many bags were new, known or unreadable."""
    rig = load_rig(arguments.rig) if arguments.rig else None
    if isinstance(arguments.paths[0], Url) and not arguments.catalog:
        raise UsageError(f'--catalog: expected with {arguments.paths[0]}, found none')
    engine = open_catalog(arguments.catalog or arguments.paths[0])
    if arguments.rebuild:
        clear(engine)
    with output.progress('reading bags') as advance:
        found = ingest(
            engine, list(map(local_path, arguments.paths)), rig, source=arguments.source,
            executor_for=partial(executor_of, arguments), advance=advance,
        )
    for error in found.failures.values():
        output.error(error)
    output.line(f'{found.added} new, {found.known} known, {len(found.failures)} unreadable')
    output.document({'added': found.added, 'known': found.known, 'failures': found.failures})
    return Exit.BAD_DATA if found.failures else Exit.OK

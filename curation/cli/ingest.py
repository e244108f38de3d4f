# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel ingest``: bring bags into a catalog, those that it does not know yet."""

from __future__ import annotations

import argparse

from curation.catalog.database import open_catalog
from curation.catalog.ingest import clear, ingest
from curation.catalog.record import SOURCES
from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_bags
from teleop_bridge.rig.loader import load_rig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    parser.add_argument(
        '--catalog', help='folder, file or URL such as postgresql://host/db (the first PATH)'
    )
    parser.add_argument('--source', default='', choices=SOURCES, help='label of where from')
    parser.add_argument('--jobs', type=int, default=1, help='processes (1)')
    parser.add_argument('--rebuild', action='store_true', help='throw all rows away first')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Ingest, and say how many bags were new, known or unreadable."""
    rig = load_rig(arguments.rig) if arguments.rig else None
    engine = open_catalog(arguments.catalog or arguments.paths[0])
    if arguments.rebuild:
        clear(engine)
    with output.progress('reading bags') as advance:
        found = ingest(
            engine, arguments.paths, rig,
            source=arguments.source, jobs=arguments.jobs, advance=advance,
        )
    for error in found.failures.values():
        output.error(error)
    output.line(f'{found.added} new, {found.known} known, {len(found.failures)} unreadable')
    output.document({'added': found.added, 'known': found.known, 'failures': found.failures})
    return Exit.BAD_DATA if found.failures else Exit.OK

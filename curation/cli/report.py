# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel report``: an index page and a page per episode, without network."""

from __future__ import annotations

import argparse
from pathlib import Path

from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_alignment, add_bags, aligned
from curation.report.write import write_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    parser.add_argument('--out', type=Path, required=True, help='report folder to make')
    add_alignment(parser)


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Write the report."""
    failures: list[str] = []
    episodes = list(aligned(arguments, output, failures))
    with output.progress('writing pages') as advance:
        index = write_report(episodes, arguments.out, progress=advance)
    output.line(f'{index}: {len(episodes)} episodes')
    output.document({'index': str(index), 'episodes': len(episodes), 'failures': failures})
    return Exit.BAD_DATA if failures else Exit.OK

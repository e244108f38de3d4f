# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel prune``: remove what operators cancelled, the only thing that is ever removed."""

from __future__ import annotations

import argparse
from pathlib import Path
import shutil

from curation.cli.exits import Exit
from curation.cli.output import Output
from recorder.offload import discarded


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('folder', type=Path, help='session, or folder of sessions')
    parser.add_argument('--yes', action='store_true', help='remove; without it they are listed')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """List the cancelled bags, and remove them if told to."""
    bags = discarded(arguments.folder)
    for bag in bags:
        output.line(str(bag))
        if arguments.yes:
            shutil.rmtree(bag)
    output.line(
        f'{len(bags)} cancelled bag{"s" * (len(bags) != 1)} '
        + ('removed' if arguments.yes else 'would be removed with --yes')
    )
    output.document({'bags': [str(bag) for bag in bags], 'removed': arguments.yes})
    return Exit.OK

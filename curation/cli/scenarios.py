# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel scenarios``: freeze interventions, near-misses and failures as named scenarios."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from curation.bag.find import find_bags
from curation.cli.days import begun_since, day
from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_alignment, aligned
from curation.scenarios.harvest import harvest
from curation.scenarios.library import grow, load_library, save_library


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('library', type=Path, help='the library file, made where it is missing')
    parser.add_argument(
        'paths', metavar='PATH', nargs='*', type=Path, help='bags to grow it from; none: list it'
    )
    parser.add_argument(
        '--since', type=day, default=0, metavar='DAY',
        help="only bags begun since a day such as 2026-01-31, or 7d for last week's (all)"
    )
    parser.add_argument('--rig', type=Path, help="rig file, for bags that don't carry theirs")
    parser.add_argument(
        '--distance',
        type=float,
        default=0.02,
        help='nearer start states tell nothing new, m or rad (0.02)',
    )
    add_alignment(parser)


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Grow the library, or list it."""
    failures: list[str] = []
    scenarios = load_library(arguments.library)
    if arguments.paths:
        if arguments.since:
            arguments.paths = begun_since(find_bags(arguments.paths), arguments.since)
        before = len(scenarios)
        with output.progress('aligning'):
            found = [
                scenario
                for episode in aligned(arguments, output, failures)
                for scenario in harvest(episode)
            ]
        scenarios, near = grow(scenarios, found, distance=arguments.distance)
        save_library(arguments.library, scenarios)
        output.line(
            f'{arguments.library}: {len(scenarios) - before} new scenarios,'
            f' {near} like one that it had, {len(scenarios)} in all'
        )
    else:
        output.table(
            ('scenario', 'kind', 'task', 'judged by'),
            [
                (s.name, s.kind.value, s.task, 'simulation' if s.cube else 'replay')
                for s in scenarios
            ],
        )
        for kind, count in Counter(s.kind.value for s in scenarios).most_common():
            output.line(f'{count} of kind {kind}')
    output.document({'scenarios': [asdict(s) for s in scenarios], 'failures': failures})
    return Exit.BAD_DATA if failures else Exit.OK

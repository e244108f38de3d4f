# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel report``: an index page and a page per episode, without network."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from curation.align.extract import extract
from curation.align.load import rig_of
from curation.align.series import Recording
from curation.bag.reader import open_bag
from curation.checks.finding import Finding
from curation.checks.run import check_recordings
from curation.cli.exits import Exit
from curation.cli.output import Advance, Output
from curation.cli.paths import add_alignment, add_bags, aligned
from curation.cli.replaying import add_checkpoint, replays_of
from curation.report.write import write_report
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.tasks import parse_tasks, Tasks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    parser.add_argument('--out', type=Path, required=True, help='report folder to make')
    parser.add_argument('--no-checks', action='store_true', help='leave the checks out')
    add_checkpoint(parser, required=False)
    add_alignment(parser)


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Write the report."""
    failures: list[str] = []
    episodes = list(aligned(arguments, output, failures))
    bags = [Path(path) for path in dict.fromkeys(episode.path for episode in episodes)]
    findings = [] if arguments.no_checks else list(_findings(bags, arguments.rig, output))
    replays = replays_of(arguments, episodes, output) if arguments.checkpoint else None
    with output.progress('writing pages') as advance:
        index = write_report(
            episodes, arguments.out, findings=findings, tasks=_tasks(bags), replays=replays,
            progress=advance,
        )  # fmt: skip
    output.line(f'{index}: {len(episodes)} episodes')
    output.document({'index': str(index), 'episodes': len(episodes), 'failures': failures})
    return Exit.BAD_DATA if failures else Exit.OK


def _findings(bags: Sequence[Path], rig_file: Path | None, output: Output) -> Iterator[Finding]:
    """Check the bags, but for their images, which take longest."""
    rig = load_rig(rig_file) if rig_file else None

    def recordings(advance: Advance) -> Iterator[Recording]:
        for done, path in enumerate(bags, 1):
            with open_bag(path) as bag:
                yield extract(bag, rig or rig_of(bag))
            advance(done, len(bags))

    with output.progress('checking') as advance:
        yield from check_recordings(recordings(advance), images=False)


def _tasks(bags: Sequence[Path]) -> Tasks | None:
    """Return the tasks of the last bag that carries them."""
    for path in reversed(bags):
        with open_bag(path) as bag:
            if text := bag.custom_data.get('tasks'):
                return parse_tasks(text, f'{path}: tasks')
    return None

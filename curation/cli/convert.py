# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel convert``: align bags and export them as a LeRobot v3 dataset."""

from __future__ import annotations

import argparse
from pathlib import Path

from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_alignment, add_bags, aligned
from curation.export.lerobot import export_lerobot, LeRobotOptions
from curation.export.scored import score_columns
from curation.export.video import CODECS
from curation.scores.score import score_all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    parser.add_argument('--out', type=Path, required=True, help='dataset folder to make')
    parser.add_argument('--codec', choices=list(CODECS), default='h264', help='of videos (h264)')
    add_alignment(parser)


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Export; the dataset is there whole or not at all."""
    failures: list[str] = []
    with output.progress('aligning') as advance:
        episodes = []
        for episode in aligned(arguments, output, failures):
            episodes.append(episode)
            advance(len(episodes), len(episodes), f'aligned {episode.name}')
    scores = score_all(episodes)
    options = LeRobotOptions(codec=CODECS[arguments.codec], extra=score_columns(scores))
    with output.progress('exporting') as advance:
        summary = export_lerobot(
            episodes,
            arguments.out,
            options,
            progress=lambda what, done, total: advance(done, total, what),
        )
    output.line(
        f'{summary.path}: {summary.episodes} episodes, {summary.frames} frames, '
        f'cameras: {", ".join(summary.cameras) or "none"}'
    )
    output.document(
        {
            'path': str(summary.path),
            'episodes': [episode.id for episode in episodes],
            'frames': summary.frames,
            'cameras': summary.cameras,
            'failures': failures,
        }
    )
    return Exit.BAD_DATA if failures else Exit.OK

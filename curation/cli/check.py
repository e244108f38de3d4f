# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel check``: what is wrong with bags or datasets, and what to do about it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from curation.align.series import Recording
from curation.checks.finding import Finding, Severity
from curation.checks.run import check_recordings, load_thresholds
from curation.cli.exits import Exit
from curation.cli.output import Advance, Output
from curation.cli.paths import add_bags
from curation.sources.open import recordings
from recorder.reference import ReferenceFrames
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.rig.loader import load_rig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    parser.add_argument('--checks', type=Path, help='checks file with other thresholds')
    parser.add_argument('--no-images', action='store_true', help='leave images out: much faster')
    parser.add_argument(
        '--references', type=Path, help='folder of reference frames that the reference node kept'
    )
    parser.add_argument('--notes', action='store_true', help='show notes, not only what is wrong')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Check every episode, then each among the others."""
    rig = load_rig(arguments.rig) if arguments.rig else None
    thresholds = load_thresholds(arguments.checks) if arguments.checks else None
    failures: list[dict[str, str]] = []

    def failed(path: Path, error: FlywheelError) -> None:
        output.error(str(error))
        failures.append({'path': str(path), 'error': str(error)})

    with output.progress('checking') as advance:
        episodes = _counted(recordings(arguments.paths, rig, on_error=failed), advance)
        findings = list(
            check_recordings(
                episodes,
                thresholds,
                images=not arguments.no_images,
                references=ReferenceFrames(arguments.references) if arguments.references else None,
            )
        )
    shown = [f for f in findings if arguments.notes or f.severity is not Severity.NOTE]
    episode = ''
    for finding in sorted(shown, key=_order):
        if finding.episode != episode:
            episode = finding.episode
            output.line(episode)
        output.line(_sentence(finding))
    counts = {s: sum(f.severity is s for f in findings) for s in Severity}
    output.line(', '.join(f'{count} {severity.value}s' for severity, count in counts.items()))
    output.document([finding.as_dict() for finding in findings] + failures)
    return Exit.BAD_DATA if failures or counts[Severity.ERROR] else Exit.OK


def _counted(episodes: Iterator[Recording], advance: Advance) -> Iterator[Recording]:
    for done, episode in enumerate(episodes, 1):
        advance(done - 1, done, f'checking {episode.name}')
        yield episode


def _sentence(finding: Finding) -> str:
    advice = f'; {finding.advice}' if finding.advice else ''
    where = f'{finding.stream}: ' if finding.stream else ''
    span = f'{finding.start_ns} to {finding.end_ns} ns'
    return (
        f'  {finding.severity.value}: {where}{finding.message} [{finding.check}, {span}]{advice}'
    )


def _order(finding: Finding) -> tuple[str, int, int]:
    return finding.episode, list(Severity).index(finding.severity), finding.start_ns

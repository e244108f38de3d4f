# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel check``: what is wrong with bags or datasets, and what to do about it."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from curation.checks.finding import Finding, Severity
from curation.checks.run import check_among, check_one, Checked, load_thresholds, Thresholds
from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_bags, add_executor, executor_of
from curation.sources.open import Source, sources
from curation.work import Failure
from recorder.reference import ReferenceFrames
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
    add_executor(parser)


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Check every episode, then each among the others."""
    rig = load_rig(arguments.rig) if arguments.rig else None
    thresholds = load_thresholds(arguments.checks) if arguments.checks else None
    references = ReferenceFrames(arguments.references) if arguments.references else None
    check = partial(_check, thresholds=thresholds, images=not arguments.no_images)
    places = sources(arguments.paths, rig)
    checked: list[Checked] = []
    failures: list[dict[str, str]] = []
    with output.progress('checking') as advance:
        results = executor_of(arguments, len(places)).run(check, places)
        for done, (place, found) in enumerate(zip(places, results, strict=True), 1):
            advance(done, len(places), f'checked {place.path.name}')
            if isinstance(found, Failure):
                output.error(found.about(place))
                failures.append({'path': str(place), 'error': found.about(place)})
            else:
                checked += found
    findings = [finding for one in checked for finding in one.findings]
    summaries = [one.summary for one in checked if one.summary is not None]
    findings += check_among(summaries, thresholds, references=references)
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


def _check(place: Source, thresholds: Thresholds | None, images: bool) -> list[Checked]:
    return [check_one(one, thresholds, images=images) for one in place.recordings()]


def _sentence(finding: Finding) -> str:
    advice = f'; {finding.advice}' if finding.advice else ''
    where = f'{finding.stream}: ' if finding.stream else ''
    span = f'{finding.start_ns} to {finding.end_ns} ns'
    return (
        f'  {finding.severity.value}: {where}{finding.message} [{finding.check}, {span}]{advice}'
    )


def _order(finding: Finding) -> tuple[str, int, int]:
    return finding.episode, list(Severity).index(finding.severity), finding.start_ns

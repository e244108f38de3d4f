# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel demo``: the whole line for real, on a simulated rig."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
import signal
from types import FrameType

from curation.checks.finding import Finding, Severity
from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.demo.plan import PLAN
from curation.demo.play import Recorded
from curation.demo.record import record
from curation.demo.refine import refine, Refined
from curation.exceptions import DemoError

COLUMNS = ('episode', 'grade', 'duration', 'smoothness', 'worst staleness', 'interventions')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        '--out', type=Path, help='folder to make (demo_output/ and the time, where you are)'
    )
    parser.add_argument(
        '--domain', type=int, help='ROS domain of its processes (one that is free)'
    )


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Record the plan's attempts and refine them; everything goes into one new folder."""
    out = arguments.out or Path('demo_output') / datetime.now().strftime('%Y%m%d_%H%M%S')
    out = out.absolute()
    try:
        out.mkdir(parents=True)
    except FileExistsError:
        raise DemoError(f'{out}: expected a new folder, found one that exists') from None
    signal.signal(signal.SIGTERM, _interrupt)
    with output.progress('recording') as advance:
        done = 0

        def tell(step: str) -> None:
            nonlocal done
            output.note(f'  {step}')
            advance(done, len(PLAN), f'recording: {step}')
            done += any(step == attempt.title for attempt in PLAN)

        recorded = record(out, domain_id=arguments.domain, tell=tell)
    with output.progress('aligning') as advance:
        refined = refine(
            recorded, out, advance=lambda what, done, total: advance(done, total, what)
        )
    _print(output, out, recorded, refined)
    return Exit.OK


def _print(output: Output, out: Path, recorded: list[Recorded], refined: Refined) -> None:
    kept = [entry for entry in recorded if entry.episode_id]
    output.table(
        COLUMNS,
        [
            (
                f"{score.name.rsplit('_e', 1)[-1].lstrip('0') or 0}: {entry.attempt.title}",
                score.grade.replace('_', ' '),
                f'{score.duration_s:.1f} s',
                f'{score.smoothness.ranking:.2f}',
                f'{1000 * score.worst_staleness_s:.0f} ms {score.worst_staleness_stream}',
                score.interventions,
            )
            for score, entry in zip(refined.scores, kept, strict=True)
        ],
    )
    for severity in (Severity.ERROR, Severity.WARNING):
        output.line(f'{severity.value + "s":<21} {episodes_by_check(refined.findings, severity)}')
    for entry in recorded:
        if not entry.episode_id:
            output.line(f'cancelled and kept apart: {entry.attempt.title}')
    for name in refined.left_out:
        output.line(f'{name}: gaps, since this machine was too slow; not in the dataset')
    places = {
        'bags': out / 'bags',
        'dataset (LeRobot v3)': refined.dataset or 'none, every episode has gaps',
        'report': refined.report,
        'logs of the nodes': out / 'logs',
    }
    for what, where in places.items():
        output.line(f'{what:<21} {where}')
    output.document(
        {
            'episodes': [entry.episode_id for entry in kept],
            'left_out': refined.left_out,
            **{what.split(' ')[0]: str(where) for what, where in places.items()},
        }
    )


def episodes_by_check(findings: Sequence[Finding], severity: Severity) -> str:
    """Say how many episodes each check found something of this severity in."""
    found = {(f.check, f.episode) for f in findings if f.severity is severity}
    counts = Counter(check for check, _ in found)
    return ', '.join(
        f"{check.replace('_', ' ')} in {count} episode{'s' * (count > 1)}"
        for check, count in counts.most_common()
    ) or 'none'


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """End like on Ctrl-C, so that our processes end with us."""
    raise KeyboardInterrupt

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Print the table of docs/checks.md: ``PYTHONPATH=test python -m support.fault_table``."""

from __future__ import annotations

from dataclasses import replace

from curation.sources.lerobot import LeRobotSource
from support.campaign import Campaign, Score
from support.faults import motion_faults
from support.rehearsal import recording, stream_faults
from support.streams import CORPUS

REAL, REHEARSED, TIMES, COPIED = 40, 8, 10, 3


def main() -> None:
    """Plant every fault ten times in real, four times in rehearsed episodes."""
    if not CORPUS.is_dir():
        raise SystemExit('the public corpus ../shared/corpus is not there')
    episodes = [replace(episode, missing=()) for _, episode in zip(
        range(REAL), LeRobotSource(CORPUS / 'g1-policy-train').recordings(), strict=False)]
    real = Campaign(episodes, images=False)
    print('| fault in real episodes | planted | detected | in the right episode and span |')
    print('|---|---|---|---|')
    for name, fault in motion_faults(episodes[COPIED]).items():
        _row(name, real.try_fault(fault, times=TIMES, seed=7, leave=COPIED))
    rehearsed = Campaign([recording(seed) for seed in range(REHEARSED)], images=True)
    print('\n| fault in rehearsed episodes | planted | detected | in the right episode and span |')
    print('|---|---|---|---|')
    for name, fault in stream_faults().items():
        _row(name, rehearsed.try_fault(fault, times=4, seed=7))
    print(f'\nFalse findings: {len(real.false_findings)} in {REAL} clean real episodes, '
          f'{len(rehearsed.false_findings)} in {REHEARSED} clean rehearsed ones.')


def _row(name: str, score: Score) -> None:
    print(f'| {name} | {score.planted} | {score.detected} | {score.attributed} |', flush=True)


if __name__ == '__main__':
    main()

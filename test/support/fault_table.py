# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The fault campaign as tables: what is planted, found, and found in its episode and span.

``make bench-faults-found`` prints them for docs/checks.md. Real episodes are public ones,
simulated ones are bags that the headless rig records for it, with two cameras.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
import tempfile

from curation.align.series import Recording
from curation.sources.lerobot import LeRobotSource
from curation.sources.open import recordings
from recorder.headless import Attempt
from support.campaign import Campaign
from support.faults import Fault, motion_faults
from support.simulated import simulate
from support.stream_faults import stream_faults
from support.streams import CORPUS

REAL, SIMULATED, COPIED = 40, 10, 3


def main() -> None:
    """Plant every fault, one at a time, in random episodes of clean collections."""
    if CORPUS.is_dir():
        source = LeRobotSource(CORPUS / 'g1-policy-train')
        episodes = [
            replace(episode, missing=())
            for _, episode in zip(range(REAL), source.recordings(), strict=False)
        ]
        _table('real episodes', episodes, motion_faults(episodes[COPIED]), times=10, images=False)
    else:
        print('The public corpus ../shared/corpus is not there: no table of real episodes.')
    with tempfile.TemporaryDirectory(prefix='flywheel_faults_') as folder:
        attempts = [Attempt(seed=seed) for seed in range(SIMULATED)]
        bags = simulate(Path(folder) / 'bags', attempts, cameras=(160, 120))
        episodes = list(recordings(bags))
        faults = motion_faults(episodes[COPIED])
        _table('simulated bags', episodes, faults, times=5, images=False)
        _table('simulated bags with images', episodes, stream_faults(), times=3, images=True)


def _table(
    where: str,
    episodes: Sequence[Recording],
    faults: Mapping[str, Fault],
    *,
    times: int,
    images: bool,
) -> None:
    campaign = Campaign(episodes, images=images)
    print(f'\n| fault in {where} | planted | detected | in its episode and span |')
    print('|---|---|---|---|')
    for name, fault in faults.items():
        score = campaign.try_fault(fault, times=times, seed=7, leave=COPIED)
        print(f'| {name} | {score.planted} | {score.detected} | {score.attributed} |', flush=True)
    print(f'\nFalse findings in {len(episodes)} clean {where}: {len(campaign.false_findings)}.')


if __name__ == '__main__':
    main()

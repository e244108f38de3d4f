# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Does the flywheel pay? Equal operator minutes in each arm, success on held-out start states.

Simulated pick-and-place by three people of different skill who tire and favour easy places. The
contrasts, stated before running:

selection  everything collected against what our rules keep, at equal size after selection
places     free choice of places against places in the order in which coverage asks for them
rollouts   after a first policy: as many minutes of demonstrations, or of corrected rollouts
takeover   within corrected rollouts: blended takeover against hard switch
weights    within corrected rollouts: weight 1, 2.5, 10
masks      within corrected rollouts: with and without the ramp and the window before takeovers
own        within corrected rollouts: with and without what the policy did by itself

Arms are paired by seed (collection, selection and training) and by start state. The quick form
has 5 seeds and 8 minutes an arm, --full has 10 seeds and 20 minutes; both 200 starts. Work is kept
in --work: run it again to go on where it was stopped.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
import multiprocessing
import os
from pathlib import Path
import sys

import numpy as np
from rich.console import Console
from rich.table import Table

BENCH = Path(__file__).resolve().parent
sys.path.insert(1, str(BENCH.parent))
from bench.flywheel_arms import Arms, CONTRASTS, OPTIONS, run_seed  # noqa: E402
from bench.flywheel_lab import Lab  # noqa: E402
from bench.flywheel_plot import plot, Row  # noqa: E402
from curation.train.intervals import paired_difference  # noqa: E402


def main() -> None:
    """Run the experiment and print its table."""
    parser = argparse.ArgumentParser('bench-flywheel', description=__doc__.splitlines()[0])
    parser.add_argument('--work', type=Path, default=Path('flywheel_experiment'))
    parser.add_argument('--full', action='store_true', help='10 seeds, 20 minutes an arm')
    parser.add_argument('--seeds', type=int)
    parser.add_argument('--minutes', type=float)
    parser.add_argument('--starts', type=int, default=200)
    parser.add_argument('--epochs', type=int, default=OPTIONS.epochs)
    parser.add_argument('--contrasts', default=','.join(CONTRASTS))
    parser.add_argument('--jobs', type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    os.environ['OMP_NUM_THREADS'] = '1'
    lab = Lab(
        arguments.work,
        minutes=arguments.minutes or (20 if arguments.full else 8),
        starts=arguments.starts,
        epochs=arguments.epochs,
    )
    lab.work.mkdir(parents=True, exist_ok=True)
    seeds = range(1, 1 + (arguments.seeds or (10 if arguments.full else 5)))
    names = arguments.contrasts.split(',')
    found: dict[str, dict[int, Arms]] = {name: {} for name in names}
    with ProcessPoolExecutor(
        arguments.jobs, mp_context=multiprocessing.get_context('spawn')
    ) as pool:
        for part in pool.map(run_seed, [lab] * len(seeds), [names] * len(seeds), seeds):
            for name, seed, arms in part:
                found[name][seed] = arms
    _show(lab, found)


def _show(lab: Lab, found: dict[str, dict[int, Arms]]) -> None:
    rows: list[Row] = []
    rates = Table('contrast', 'arm', 'success', 'by seed')
    differences = Table('contrast', 'arm', 'against', 'difference', '95 % interval')
    for name, by_seed in found.items():
        arms = {arm: [by_seed[seed][arm] for seed in sorted(by_seed)] for arm in by_seed[1]}
        for arm, solved in arms.items():
            seeds = ' '.join(f'{np.mean(each):.1%}' for each in solved)
            rates.add_row(name, arm, f'{np.mean(solved):.1%}', seeds)
        for base, arm in combinations(arms, 2):
            mean, low, high = paired_difference(arms[base], arms[arm])
            rows.append((f'{name}: {arm} − {base}', mean, low, high))
            differences.add_row(name, arm, base, f'{mean:+.1%}', f'{low:+.1%} to {high:+.1%}')
    console = Console()
    console.print(rates, differences)
    plot(rows, lab.work / 'differences.svg')
    console.print(
        f'{len(next(iter(found.values())))} paired seeds, {lab.minutes:g} operator minutes an arm,'
        f' {lab.starts} held-out start states; work in {lab.work}'
    )


if __name__ == '__main__':
    main()

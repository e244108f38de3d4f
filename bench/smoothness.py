# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What moves each measure of smoothness: who moves, how long, how it was sampled, with what noise.

Simulated operators of three skills give joint streams; ``--dataset`` adds the rank correlation
with length over the episodes of a LeRobot v3 dataset.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
import pyarrow.parquet as pq
from scipy.interpolate import CubicSpline
from scipy.stats import spearmanr

from curation.scores.grasps import closings
from curation.scores.smoothness import Smoothness, smoothness
from recorder.headless import Attempt, HeadlessRig
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Role, Stream
from teleop_bridge.rig.tasks import load_tasks

Values = NDArray[np.float64]
SKILLS = ('worse', 'okay', 'better')
MEASURES = ('ranking', 'sparc', 'log_dimensionless_jerk', 'integrated_squared_jerk')


def streams(skill: str, episodes: int) -> Iterator[tuple[Values, Values, Values]]:
    """Yield times (m,), s, the arm's joints (m, n), rad, and the times of gripper events."""
    tasks = load_tasks(data_file('config/tasks/pick_place.yaml'))
    rig = HeadlessRig(
        load_rig(data_file('config/rigs/so101_sim.yaml')), tasks.task('pick_place')
    )
    for seed in range(episodes):
        stamps: list[int] = []
        joints: list[Values] = []

        def publish(
            stream: Stream, stamp_ns: int, _make: object,
            stamps: list[int] = stamps, joints: list[Values] = joints,
        ) -> None:  # fmt: skip
            if stream.role is Role.STATE:
                stamps.append(stamp_ns)
                joints.append(rig.sim.state().positions.copy())

        rig.run(Attempt(seed, skill=skill), publish)
        times, positions = (np.array(stamps) - stamps[0]) / NANOSECONDS, np.array(joints)
        events = np.sort(times[np.concatenate(closings(positions[:, -1]))])
        yield times, positions[:, :-1], events


def values(found: Smoothness) -> Values:
    """Return the measures in the order of the table."""
    return np.array([getattr(found, name) for name in MEASURES])


def operators(recorded: dict[str, list[tuple[Values, Values, Values]]]) -> None:
    """Print each skill's medians and quartiles, and how well a measure tells two skills apart."""
    rows = {
        skill: np.array([values(smoothness(t, p, events_s=e)) for t, p, e in parts])
        for skill, parts in recorded.items()
    }
    print(f'{"median (quartiles)":24}' + ''.join(f'{skill:>32}' for skill in SKILLS)
          + '   worse<okay okay<better')
    for column, name in enumerate(MEASURES):
        cells = ''
        for skill in SKILLS:
            low, middle, high = np.quantile(rows[skill][:, column], [0.25, 0.5, 0.75])
            cells += f'{f"{middle:.4g} ({low:.4g} to {high:.4g})":>32}'
        sign = -1 if name == 'integrated_squared_jerk' else 1
        apart = [
            np.mean(sign * rows[a][:, column][:, None] < sign * rows[b][:, column][None])
            for a, b in (SKILLS[:2], SKILLS[1:])
        ]
        print(f'{name:24}{cells}   {apart[0]:10.2f} {apart[1]:11.2f}')


def changed(times: Values, positions: Values, events: Values) -> Iterator[
    tuple[str, Values, Values, Values]
]:
    """Yield changes that say nothing about the hand: what, and times, joints and events."""
    span, step = float(times[-1]), float(times[1] - times[0])
    back = positions[::-1]  # moves as smoothly as it did forwards
    joined = np.concatenate([positions, back, positions, back])
    mirrored = np.sort(span - events)
    later = [k * (span + step) for k in range(4)]
    yield ('4 times, there and back', np.arange(len(joined)) * step, joined, np.concatenate(
        [later[0] + events, later[1] + mirrored, later[2] + events, later[3] + mirrored]))
    still = np.repeat(positions[-1:], round(5 / step), axis=0)
    held = np.concatenate([positions, still])
    yield '5 s of rest at the end', np.arange(len(held)) * step, held, events
    spline = CubicSpline(times, positions)
    for rate in (30, 60, 200, 500):
        grid = np.arange(0, span, 1 / rate)
        yield f'sampled at {rate} Hz', grid, spline(grid), events
    grid = np.arange(0, span, 1 / 200)
    noise = np.random.default_rng(0).normal(0, 1e-4, (len(grid), positions.shape[1]))
    yield '0.1 mrad of noise at 200 Hz', grid, spline(grid) + noise, events


def sensitivity(recorded: dict[str, list[tuple[Values, Values, Values]]]) -> None:
    """Print by how many percent each change moves each measure: the median over episodes."""
    found: dict[str, list[Values]] = {}
    for times, positions, events in [p for parts in recorded.values() for p in parts]:
        base = values(smoothness(times, positions, events_s=events))
        for what, t, p, e in changed(times, positions, events):
            moved = values(smoothness(t, p, events_s=e))
            found.setdefault(what, []).append(100 * np.abs(moved / base - 1))
    print(f'\n{"change in %, median/most":30}' + ''.join(f'{name:>26}' for name in MEASURES))
    for what, rows in found.items():
        cells = zip(np.median(rows, axis=0), np.max(rows, axis=0), strict=True)
        print(f'{what:30}' + ''.join(f'{f"{m:.1f} / {most:.1f}":>26}' for m, most in cells))


def dataset(folder: Path) -> None:
    """Print the rank correlation of each measure with an episode's length."""
    names = ['observation.state', 'timestamp', 'episode_index']
    files = sorted(folder.glob('data/**/*.parquet'))
    parts = [pq.read_table(path, columns=names) for path in files]
    measured, lengths = [], []
    for part in parts:
        episode = part['episode_index'].to_numpy()
        states = np.array(part['observation.state'].to_pylist(), float)
        times = part['timestamp'].to_numpy().astype(float)
        for number in np.unique(episode):
            own = episode == number
            measured.append(values(smoothness(times[own] - times[own][0], states[own])))
            lengths.append(np.ptp(times[own]))
    shortest, longest = min(lengths), max(lengths)
    print(f'\n{folder.name}: {len(lengths)} episodes of {shortest:.0f} to {longest:.0f} s,'
          ' rank correlation with length')
    for column, name in enumerate(MEASURES):
        rho = spearmanr(np.array(measured)[:, column], lengths, nan_policy='omit').statistic
        print(f'{name:24} {rho:+.2f}')


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--episodes', type=int, default=12, help='per skill (12)')
    parser.add_argument('--dataset', type=Path, help='LeRobot v3 dataset')
    arguments = parser.parse_args()
    recorded = {skill: list(streams(skill, arguments.episodes)) for skill in SKILLS}
    operators(recorded)
    sensitivity(recorded)
    if arguments.dataset:
        dataset(arguments.dataset)


if __name__ == '__main__':
    main()

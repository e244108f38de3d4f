# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Compare a dataset, as the real lerobot loads it, with its bags (for scripts/check_lerobot)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
import sys
from typing import Any

from lerobot.datasets.lerobot_dataset import LeRobotDataset
import numpy as np
from torch.utils.data import DataLoader

from curation.align.episode import Episode
from curation.align.load import load_episodes
from curation.bag.find import find_bags
from curation.export.features import columns
from teleop_bridge.exceptions import FlywheelError

CHECKED_FRAMES = 9          # of each episode and camera, first and last among them
WORST_PSNR_DB = 25.0        # a lossy codec stays far above it, another frame's place far below
WORST_DEPTH_MM = 5.0


class DifferenceError(Exception):
    """The dataset says something else than its bags."""


def aligned(bags: Path) -> Iterator[Episode]:
    """Yield the episodes of every bag below a folder; say which can't be aligned."""
    for bag in find_bags([bags]):
        try:
            yield from load_episodes(bag)
        except FlywheelError as error:
            print(f'left out: {error}')


def compare(dataset: LeRobotDataset, episode: Episode, row: dict[str, Any]) -> int:
    """Compare one episode's values, times and frames; return how many frames were compared."""
    first, end = row['dataset_from_index'], row['dataset_to_index']
    if end - first != len(episode):
        raise DifferenceError(f'{episode.name}: {end - first} frames, aligned {len(episode)}')
    table = dataset.hf_dataset.with_format('numpy')[first:end]
    times = np.asarray(table['timestamp'], np.float64)
    if np.abs(times - np.arange(len(episode)) / dataset.fps).max() > dataset.tolerance_s:
        raise DifferenceError(f'{episode.name}: timestamps leave the {dataset.fps} Hz grid')
    for name, column in columns(episode).items():
        found = np.asarray(table[name])
        if column.dtype == 'string':
            same = found.tolist() == column.values.tolist()
        else:
            expected = np.asarray(column.values, column.dtype).reshape(found.shape)
            same = np.array_equal(found, expected, equal_nan=found.dtype.kind == 'f')
        if not same:
            raise DifferenceError(f'{episode.name}: {name} is not what its bag aligns to')
    chosen = np.unique(np.linspace(0, len(episode) - 1, CHECKED_FRAMES).astype(int))
    for i in chosen:
        _compare_item(dataset[int(first + i)], episode, int(i), dataset)
    return len(chosen)


def _compare_item(
    item: dict[str, Any], episode: Episode, i: int, dataset: LeRobotDataset
) -> None:
    task = episode.facts.task_text or 'unnamed task'
    if int(item['frame_index']) != i or item['task'] != task:
        raise DifferenceError(
            f"{episode.name}: frame {i} has index {item['frame_index']}, task '{item['task']}'")
    for key in dataset.meta.camera_keys:
        camera = key.removeprefix('observation.images.')
        shown = item[key].numpy()
        if camera.endswith('_depth'):
            _compare_depth(shown, episode, camera.removesuffix('_depth'), i)
        else:
            _compare_image(shown, episode, camera, i)


def _compare_image(shown: np.ndarray, episode: Episode, camera: str, i: int) -> None:
    expected = episode.frame(camera, i).astype(np.float64) / 255
    error = ((shown.transpose(1, 2, 0) - expected) ** 2).mean()
    psnr = -10 * np.log10(max(error, 1e-12))
    if psnr < WORST_PSNR_DB:
        raise DifferenceError(f'{episode.name}: {camera} frame {i} has {psnr:.1f} dB to its bag')


def _compare_depth(shown: np.ndarray, episode: Episode, camera: str, i: int) -> None:
    expected = episode.depth(camera, i).astype(np.float64)
    if expected.max() < 20:  # metres
        expected *= 1000
    known = (expected > 10) & (expected < 3500)
    found = shown.reshape(expected.shape).astype(np.float64)
    if known.any() and np.abs(found - expected)[known].max() > WORST_DEPTH_MM:
        worst = np.abs(found - expected)[known].max()
        raise DifferenceError(f'{episode.name}: {camera} depth {i} is off by {worst:.1f} mm')


def _filter(dataset: LeRobotDataset, root: Path) -> None:
    """Select episodes by one of our columns, as lerobot does."""
    grade = dataset.meta.episodes[0]['grade']
    expected = [i for i, row in enumerate(dataset.meta.episodes) if row['grade'] == grade]
    some = LeRobotDataset(
        'local/checked', root=root, video_backend='pyav',
        episode_filter=lambda row: row['grade'] == grade)
    if some.num_episodes != len(expected):
        raise DifferenceError(f"episode_filter on grade '{grade}': {some.num_episodes} episodes")
    print(f"episode_filter: {len(expected)} of {dataset.num_episodes} with grade '{grade}'")


def main() -> int:
    """Load, compare, and read one pass of shuffled batches as a trainer does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('dataset', type=Path)
    parser.add_argument('bags', type=Path)
    arguments = parser.parse_args()
    if not (arguments.dataset / 'meta' / 'info.json').is_file():
        print(f'make check-lerobot: {arguments.dataset}: expected a LeRobot dataset, found no '
              'meta/info.json', file=sys.stderr)
        return 1
    try:
        dataset = LeRobotDataset('local/checked', root=arguments.dataset, video_backend='pyav')
        episodes = {episode.id: episode for episode in aligned(arguments.bags)}
        frames = 0
        for row in dataset.meta.episodes:
            episode = episodes.get(row['content_id'])
            if episode is None:
                raise DifferenceError(f"{arguments.bags}: no bag has the content of {row['bag']}")
            frames += compare(dataset, episode, row)
            print(f'{episode.name}: {len(episode)} frames as aligned from its bag')
        _filter(dataset, arguments.dataset)
        batches = DataLoader(dataset, batch_size=8, shuffle=True, num_workers=2)
        shape = next(iter(batches))['observation.state'].shape
    except (DifferenceError, FlywheelError) as error:
        print(f'make check-lerobot: {error}', file=sys.stderr)
        return 1
    cameras = ', '.join(dataset.meta.camera_keys) or 'no camera'
    print(f'{len(dataset)} frames in {dataset.num_episodes} episodes are as their bags align; '
          f'images of {frames} frames compared ({cameras}); first batch {tuple(shape)}')
    return 0


if __name__ == '__main__':
    sys.exit(main())

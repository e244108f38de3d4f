# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Aligned episodes as a robomimic HDF5 file: one group a demonstration."""

from __future__ import annotations

from collections.abc import Sequence
import json
from pathlib import Path
from typing import Any

import numpy as np

from curation.align.episode import Episode
from curation.exceptions import ExportError
from curation.export.action import action_of
from curation.export.arrays import (
    ARRAY_DEFAULTS,
    ArrayOptions,
    facts_of,
    no_progress,
    Progress,
    require_alike,
)
from curation.export.features import columns
from curation.export.images import shaped_frames
from curation.export.staging import staged
from teleop_bridge.exceptions import MissingDependencyError
from teleop_bridge.vocabulary import Grade

GYM = 2                # robomimic's EnvType of an environment that it does not know better
FILE = 'dataset.hdf5'
_SUCCESSES = (Grade.SUCCESS_FIRST_TRY.value, Grade.SUCCESS_AFTER_RETRIES.value)
_OUTSIDE_OBS = ('intervention', 'authority', 'timestamp_ns', 'valid', 'sample_weight')


def export_robomimic(
    episodes: Sequence[Episode],
    out: Path,
    options: ArrayOptions = ARRAY_DEFAULTS,
    *,
    progress: Progress = no_progress,
) -> Path:
    """Write ``out``/dataset.hdf5 and return its path; ``out`` must not exist.

    Joint values keep their float64. The reward is 1 at the last sample of an episode that was
    graded a success. Raises ExportError where episodes don't fit together or do not read back.
    """
    try:
        import h5py
    except ImportError as error:
        raise MissingDependencyError('robomimic files need h5py: pip install h5py') from error
    require_alike(episodes)
    with staged(out) as folder:
        with h5py.File(folder / FILE, 'w') as file:
            data = file.create_group('data')
            data.attrs['total'] = sum(len(episode) for episode in episodes)
            data.attrs['env_args'] = json.dumps(_environment(episodes[0]))
            for number, episode in enumerate(episodes):
                demo = data.create_group(f'demo_{number}')
                _write(demo, episode, options)
                _link_next(h5py, demo)
                progress(episode.name, number + 1, len(episodes))
            names = [f'demo_{number}' for number in range(len(episodes))]
            file['mask/train'] = np.array(names, dtype='S')
        with h5py.File(folder / FILE, 'r') as file:
            for number, episode in enumerate(episodes):
                _verify(file['data'][f'demo_{number}'], episode, options)
    return out / FILE


def _environment(episode: Episode) -> dict[str, Any]:
    return {
        'env_name': episode.rig.name,
        'type': GYM,
        'env_kwargs': {'control_freq': 1e9 / episode.period_ns},
    }


def _write(demo: Any, episode: Episode, options: ArrayOptions) -> None:
    m = len(episode)
    rewards = np.zeros(m)
    rewards[-1] = episode.facts.grade in _SUCCESSES
    demo.attrs.update({'num_samples': m, **facts_of(episode)})
    demo['actions'] = action_of(episode, options.action)
    demo['states'] = episode.state
    demo['rewards'] = rewards
    demo['dones'] = np.arange(m) == m - 1
    demo['obs/joint_positions'] = episode.state
    for name, column in columns(episode).items():
        if name in _OUTSIDE_OBS:
            demo[name] = column.values
        elif name.startswith('observation.') and name != 'observation.state':
            demo[f'obs/{name.removeprefix("observation.")}'] = column.values
    for camera in episode.cameras:
        frames = shaped_frames(episode, camera, options.shape)
        stored = None
        for i, (_, image) in enumerate(frames):
            if stored is None:  # a sample a chunk, so that random windows read no more
                stored = demo.create_dataset(
                    f'obs/{camera}_image', (m, *image.shape), np.uint8, chunks=(1, *image.shape),
                    compression='lzf',
                )
            stored[i] = image


def _link_next(h5py: Any, demo: Any) -> None:
    """Let ``next_obs``, which robomimic's loader wants, show ``obs`` one sample on; no copies."""
    demo.create_group('next_obs')
    for name, stored in list(demo['obs'].items()):
        m = len(stored)
        source = h5py.VirtualSource('.', stored.name, stored.shape, stored.dtype)
        layout = h5py.VirtualLayout(stored.shape, stored.dtype)
        layout[:m - 1] = source[1:]
        layout[m - 1:] = source[m - 1:]
        demo.create_virtual_dataset(f'next_obs/{name}', layout)


def _verify(demo: Any, episode: Episode, options: ArrayOptions) -> None:
    m = len(episode)
    same = (
        np.array_equal(demo['obs/joint_positions'][:], episode.state, equal_nan=True)
        and np.array_equal(demo['actions'][:], action_of(episode, options.action))
        and np.array_equal(demo['timestamp_ns'][:], episode.grid_ns)
    )
    if not same:
        raise ExportError(f'{episode.name}: values do not read back as written')
    for camera in episode.cameras:
        for i in {0, m // 2, m - 1}:
            image = options.shape.apply(episode.frame(camera, i), episode.name)
            if not np.array_equal(demo[f'obs/{camera}_image'][i], image):
                raise ExportError(f'{episode.name}: {camera} frame {i} does not read back')

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Read an exported dataset back and compare it with what it was made from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pyarrow.parquet as pq

from curation.align.episode import Episode
from curation.exceptions import ExportError
from curation.export.depth import decode_depth, to_metres
from curation.export.video import read_frames

_WORST_PSNR_DB = 25.0   # lossy codecs stay far above it; a swapped or shifted frame far below
_DEPTH_ERROR_M = 0.005


def verify_dataset(folder: Path, episodes: list[Episode]) -> None:
    """Check counts, values, and the first, middle and last frame of each episode and camera.

    Raises ExportError, naming the episode and what differs.
    """
    info = json.loads((folder / 'meta/info.json').read_text())
    rows = pq.read_table(folder / 'meta/episodes').to_pylist()
    if len(rows) != len(episodes) or info['total_frames'] != sum(len(e) for e in episodes):
        raise ExportError(f'{folder}: wrote {len(rows)} episodes of {len(episodes)}')
    for row, episode in zip(rows, episodes, strict=True):
        _check_values(folder, info, row, episode)
        for key, feature in info['features'].items():
            if feature['dtype'] == 'video':
                _check_video(folder, info, row, episode, key)


def _check_values(
    folder: Path, info: dict[str, Any], row: dict[str, Any], episode: Episode
) -> None:
    path = info['data_path'].format(
        chunk_index=row['data/chunk_index'], file_index=row['data/file_index']
    )
    table = pq.read_table(folder / path, filters=[('episode_index', '=', row['episode_index'])])
    stamps = table['timestamp_ns'].to_numpy()
    if not np.array_equal(stamps, episode.grid_ns):
        raise ExportError(f'{episode.name}: time stamps do not read back as written')
    state = np.array(table['observation.state'].to_pylist(), np.float32)
    state = state.reshape(len(episode), -1)
    if not np.array_equal(state, episode.state.astype(np.float32), equal_nan=True):
        raise ExportError(f'{episode.name}: observation.state does not read back as written')


def _check_video(
    folder: Path, info: dict[str, Any], row: dict[str, Any], episode: Episode, key: str
) -> None:
    fps = info['fps']
    path = info['video_path'].format(
        video_key=key,
        chunk_index=row[f'videos/{key}/chunk_index'],
        file_index=row[f'videos/{key}/file_index'],
    )
    first = round(row[f'videos/{key}/from_timestamp'] * fps)
    chosen = sorted({0, len(episode) // 2, len(episode) - 1})
    camera = key.removeprefix('observation.images.')
    depth = info['features'][key]['info']['is_depth_map']
    found = 0
    for number, stored in read_frames(folder / path, [first + i for i in chosen], fps=fps):
        found += 1
        i = number - first
        if depth:
            source = to_metres(episode.depth(camera.removesuffix('_depth'), i))
            wrong = _depth_error(source, stored) > _DEPTH_ERROR_M
        else:
            wrong = _psnr(episode.frame(camera, i), stored) < _WORST_PSNR_DB
        if wrong:
            raise ExportError(f'{episode.name}: {key} frame {i} does not read back as written')
    if found != len(chosen):
        raise ExportError(f'{episode.name}: {key} has {found} of {len(chosen)} frames looked for')


def _psnr(source: NDArray[np.uint8], stored: NDArray[np.uint8]) -> float:
    """Return the peak signal-to-noise ratio of two images, dB."""
    error = float(np.mean((source.astype(np.float64) - stored) ** 2))
    return float('inf') if error == 0 else 10 * np.log10(255.0**2 / error)


def _depth_error(source: NDArray[np.float64], stored: NDArray[np.uint16]) -> float:
    """Return the largest error, m, over 0.5 to 3.5 m, where the codes are finest."""
    inside = (source > 0.5) & (source < 3.5)
    return float(np.abs(decode_depth(stored)[inside] - source[inside]).max(initial=0.0))

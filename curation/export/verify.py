# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Read an exported dataset back and compare it with what it was made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pyarrow as pa
import pyarrow.parquet as pq

from curation.align.episode import Image
from curation.exceptions import ExportError
from curation.export.depth import decode_depth, to_metres
from curation.export.segments import read_segment, Segment
from curation.export.video import read_frames

_WORST_PSNR_DB = 25.0   # lossy codecs stay far above it; a swapped or shifted frame far below
_DEPTH_ERROR_M = 0.005


@dataclass(frozen=True)
class Written:
    """An episode that was written: its row of meta/episodes, its data, its segments by video key.

    A segment has the first, middle and last image as decoded from the bag, so that no frame is
    decoded from there twice.
    """

    name: str
    row: Mapping[str, Any]
    table: pa.Table
    segments: Mapping[str, Segment]


def verify_dataset(folder: Path, written: Sequence[Written]) -> None:
    """Check counts, every value, and three frames of each new episode and camera.

    Raises ExportError, naming the episode and what differs.
    """
    info = json.loads((folder / 'meta/info.json').read_text())
    rows = pq.read_table(folder / 'meta/episodes')
    last = rows.slice(len(rows) - len(written)).to_pylist()
    if [row['content_id'] for row in last] != [one.row['content_id'] for one in written] \
            or len(rows) != info['total_episodes'] \
            or sum(rows['length'].to_pylist()) != info['total_frames']:
        raise ExportError(f'{folder}: wrote {len(rows)} episodes, not those given')
    _check_values(folder, info, written)
    for key in written[0].segments if written else ():
        _check_videos(folder, info, written, key)


def _check_values(folder: Path, info: dict[str, Any], written: Sequence[Written]) -> None:
    for path, group in _by_file(info['data_path'], 'data', written).items():
        file = pq.ParquetFile(folder / path)
        if file.num_row_groups != len(group):
            raise ExportError(f'{path}: {file.num_row_groups} episodes, expected {len(group)}')
        for number, one in enumerate(group):
            found = file.read_row_group(number)
            if differing := [
                name for name in one.table.column_names
                if not _same(found[name].combine_chunks(), one.table[name].combine_chunks())
            ]:
                raise ExportError(
                    f'{one.name}: {differing[0]} does not read back as written')


def _same(one: pa.Array, other: pa.Array) -> bool:
    """Compare arrays; NaN equals NaN, which Arrow's own comparison denies."""
    if pa.types.is_fixed_size_list(one.type):
        one, other = one.flatten(), other.flatten()
    if not pa.types.is_floating(one.type):
        return bool(one.equals(other))
    return one.type == other.type and np.array_equal(
        one.to_numpy(), other.to_numpy(), equal_nan=True)


def _check_videos(
    folder: Path, info: dict[str, Any], written: Sequence[Written], key: str
) -> None:
    fps = info['fps']
    depth = info['features'][key]['info']['is_depth_map']
    template = info['video_path'].replace('{video_key}', key)
    for path, group in _by_file(template, f'videos/{key}', written).items():
        expected = {
            round(one.row[f'videos/{key}/from_timestamp'] * fps) + i: (one, i)
            for one in group for i in one.segments[key].compared
        }
        found = 0
        shown: dict[int, Image] = {}
        for number, stored in read_frames(folder / path, sorted(expected), fps=fps):
            one, i = expected[number]
            found += 1
            if i == 0:
                shown = read_segment(one.segments[key]).witnesses
            image = shown[i]
            wrong = _depth_error(to_metres(image), stored) > _DEPTH_ERROR_M if depth \
                else _psnr(image, stored) < _WORST_PSNR_DB
            if wrong:
                raise ExportError(f'{one.name}: {key} frame {i} does not read back as written')
        if found != len(expected):
            raise ExportError(f'{path}: has {found} of {len(expected)} frames looked for')


def _by_file(
    template: str, prefix: str, written: Sequence[Written]
) -> dict[str, list[Written]]:
    files: dict[str, list[Written]] = {}
    for one in written:
        path = template.format(
            chunk_index=one.row[f'{prefix}/chunk_index'],
            file_index=one.row[f'{prefix}/file_index'],
        )
        files.setdefault(path, []).append(one)
    return files


def _psnr(source: NDArray[np.uint8], stored: NDArray[np.uint8]) -> float:
    """Return the peak signal-to-noise ratio of two images, dB."""
    if source.shape != stored.shape:
        return 0.0
    error = float(np.mean((source.astype(np.float32) - stored) ** 2))
    return float('inf') if error == 0 else 10 * np.log10(255.0**2 / error)


def _depth_error(source: NDArray[np.float64], stored: NDArray[np.uint16]) -> float:
    """Return the largest error, m, over 0.5 to 3.5 m, where the codes are finest."""
    inside = (source > 0.5) & (source < 3.5)
    return float(np.abs(decode_depth(stored)[inside] - source[inside]).max(initial=0.0))

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Aligned episodes with frames taken out of their bags: what a loader reads without a video.

An episode is ``episodes/NNNNNN.parquet`` (a row a sample) and, per camera, one file of encoded
images end to end, in which the rows say where theirs lies. ``info.json`` and ``episodes.parquet``
describe the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
import pyarrow as pa
import pyarrow.parquet as pq
import simplejpeg

from curation.align.episode import Episode
from curation.exceptions import ExportError
from curation.export.action import action_of, ActionSource
from curation.export.arrays import facts_of, no_progress, Progress, require_alike
from curation.export.features import Column, columns
from curation.export.images import Pixels, Shape, shaped_frames
from curation.export.staging import resumable

FORMAT = 'teleop_flywheel frames 1'
_CONTENT_ID = b'content_id'
_JPEG = b'\xff\xd8\xff'


class FrameEncoding(Enum):
    """How a frame is stored."""

    JPEG = 'jpeg'  # about 95 % quality, colour at full resolution
    PNG = 'png'    # lossless


@dataclass(frozen=True)
class FrameOptions:
    """How to export. ``extra`` gives episodes, by content id, columns such as their score."""

    shape: Shape = field(default_factory=Shape)
    encoding: FrameEncoding = FrameEncoding.JPEG
    quality: int = 95
    action: ActionSource = ActionSource.EXECUTED
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workers: int = 0  # threads, each on an episode of its own; 0 takes every core


def export_frames(
    episodes: Sequence[Episode],
    out: Path,
    options: FrameOptions = FrameOptions(),
    *,
    progress: Progress = no_progress,
) -> Path:
    """Write the folder ``out``, which must not exist, and return it.

    A run that was stopped goes on with the episodes that are not whole yet. Raises ExportError
    where episodes don't fit together or do not read back.
    """
    require_alike(episodes)
    with resumable(out, _key(episodes, options)) as folder:
        for name in ('episodes', *(f'frames/{camera}' for camera in episodes[0].cameras)):
            (folder / name).mkdir(parents=True, exist_ok=True)
        done = 0
        with ThreadPoolExecutor(options.workers or os.cpu_count()) as pool:
            jobs = [
                pool.submit(_export_one, folder, number, episode, options)
                for number, episode in enumerate(episodes)
            ]
            try:
                for job, episode in zip(jobs, episodes, strict=True):
                    job.result()
                    done += 1
                    progress(episode.name, done, len(episodes))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        _write_index(folder, episodes, options)
    return out


def decode_image(data: bytes) -> Pixels:
    """Return the (h, w, 3) RGB image of one stored frame; ExportError where it is broken."""
    try:
        if data.startswith(_JPEG):
            return np.asarray(simplejpeg.decode_jpeg(data, 'RGB'), np.uint8)
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
    except (ValueError, cv2.error):
        image = None
    if image is None:
        raise ExportError(f'a frame of {len(data)} bytes is no image')
    return np.asarray(image, np.uint8)


def _encode(image: Pixels, options: FrameOptions) -> bytes:
    if options.encoding is FrameEncoding.JPEG:
        settings = [cv2.IMWRITE_JPEG_QUALITY, options.quality,
                    cv2.IMWRITE_JPEG_SAMPLING_FACTOR, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444]
    else:
        settings = [cv2.IMWRITE_PNG_COMPRESSION, 1]
    bgr = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    return bytes(cv2.imencode(f'.{options.encoding.value}', bgr, settings)[1])


def _export_one(folder: Path, number: int, episode: Episode, options: FrameOptions) -> None:
    """Write an episode, its table last and by one rename: where that is, the episode is whole."""
    path = folder / f'episodes/{number:06d}.parquet'
    if path.is_file() and _content_id(path) == episode.id:
        return
    arrays = {name: _array(column) for name, column in columns(episode).items()}
    arrays['action'] = _array(Column('float32', action_of(episode, options.action)))
    for camera in episode.cameras:
        pack = folder / f'frames/{camera}/{number:06d}.bin'
        offsets, sizes = _write_pack(pack, episode, camera, options)
        arrays[f'frame.{camera}.offset'] = pa.array(offsets)
        arrays[f'frame.{camera}.size'] = pa.array(sizes)
        _verify_pack(pack, offsets, sizes, episode, camera, options)
    table = pa.table(arrays).replace_schema_metadata({_CONTENT_ID: episode.id})
    unfinished = path.with_suffix('.unfinished')
    pq.write_table(table, unfinished)
    if not np.array_equal(pq.read_table(unfinished)['timestamp_ns'].to_numpy(), episode.grid_ns):
        raise ExportError(f'{episode.name}: time stamps do not read back as written')
    unfinished.rename(path)


def _write_pack(
    path: Path, episode: Episode, camera: str, options: FrameOptions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Write a camera's frames end to end; samples that share a message share its frame."""
    offsets = np.zeros(len(episode), np.int64)
    sizes = np.zeros(len(episode), np.int64)
    last, at, size = None, 0, 0
    with path.open('wb') as file:
        for i, (index, image) in enumerate(shaped_frames(episode, camera, options.shape)):
            if index != last:
                at, last = file.tell(), index
                size = file.write(_encode(image, options))
            offsets[i], sizes[i] = at, size
    return offsets, sizes


def _verify_pack(
    path: Path, offsets: NDArray[np.int64], sizes: NDArray[np.int64], episode: Episode,
    camera: str, options: FrameOptions,
) -> None:
    """Compare the first, middle and last frame with the bag's, exactly as they were encoded."""
    with path.open('rb') as file:
        for i in {0, len(episode) // 2, len(episode) - 1}:
            file.seek(int(offsets[i]))
            image = options.shape.apply(episode.frame(camera, i), episode.name)
            if file.read(int(sizes[i])) != _encode(image, options):
                raise ExportError(f'{episode.name}: {camera} frame {i} does not read back')


def _write_index(folder: Path, episodes: Sequence[Episode], options: FrameOptions) -> None:
    rows = [
        {
            'episode_index': number, 'length': len(episode), **facts_of(episode),
            **options.extra.get(episode.id, {}),
        }
        for number, episode in enumerate(episodes)
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    index = pa.table({name: [row.get(name) for row in rows] for name in names})
    pq.write_table(index, folder / 'episodes.parquet')
    first = episodes[0]
    info = {
        'format': FORMAT,
        'robot_type': first.rig.robot_type,
        'rate_hz': 1e9 / first.period_ns,
        'joints': list(first.rig.joint_names),
        'action': options.action.value,
        'cameras': {
            camera: dict(zip(('height', 'width'), _shape(first, camera, options), strict=True))
            for camera in first.cameras
        },
        'encoding': options.encoding.value,
        'crop': options.shape.crop,
        'samples': sum(len(episode) for episode in episodes),
    }
    (folder / 'info.json').write_text(json.dumps(info, indent=1))


def _shape(episode: Episode, camera: str, options: FrameOptions) -> tuple[int, ...]:
    return options.shape.apply(episode.frame(camera, 0), episode.name).shape[:2]


def _content_id(path: Path) -> str:
    metadata: dict[bytes, bytes] = pq.read_schema(path).metadata or {}
    return metadata.get(_CONTENT_ID, b'').decode()


def _array(column: Column) -> pa.Array:
    if column.dtype == 'string' or column.values.ndim == 1:
        return pa.array(column.values.tolist() if column.dtype == 'string' else column.values)
    values = np.ascontiguousarray(column.values, column.dtype)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])


def _key(episodes: Sequence[Episode], options: FrameOptions) -> str:
    """Return what a resumed run must share: format, options, rig and every grid time."""
    digest = hashlib.sha256(f'{FORMAT} {options!r} {episodes[0].rig!r}'.encode())
    for episode in episodes:
        digest.update(episode.id.encode())
        digest.update(episode.grid_ns.tobytes())
    return digest.hexdigest()

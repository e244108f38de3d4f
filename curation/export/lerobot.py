# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Aligned episodes as a LeRobot dataset v3.0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from curation.align.episode import Episode
from curation.exceptions import ExportError
from curation.export.cameras import CameraTrack
from curation.export.features import Column, columns
from curation.export.staging import staged
from curation.export.statistics import ValueStatistics
from curation.export.verify import verify_dataset
from curation.export.video import CODECS, VideoCodec

VERSION = 'v3.0'
CHUNK = 1000                 # files to a chunk folder
DATA_FILE_MB = 100
VIDEO_FILE_MB = 200
DATA_PATH = 'data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet'
VIDEO_PATH = 'videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4'

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class LeRobotOptions:
    """How to export. ``extra`` gives each episode id columns of its own, such as its score."""

    codec: VideoCodec = CODECS['h264']
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class ExportSummary:
    """What was written."""

    path: Path
    episodes: int
    frames: int
    cameras: tuple[str, ...]


def export_lerobot(
    episodes: Iterable[Episode],
    out: Path,
    options: LeRobotOptions = LeRobotOptions(),
    *,
    progress: Progress = lambda _what, _done, _of: None,
) -> ExportSummary:
    """Write episodes, in order, as the dataset folder ``out``, which must not exist.

    It is written beside ``out``, read back, and renamed only then. Raises ExportError where
    episodes don't fit together (joints, rate, cameras) or what was written does not read back.
    """
    with staged(out) as folder:
        writer = _Writer(folder, options)
        kept = []
        for episode in episodes:
            writer.add(episode, progress)
            kept.append(episode)
        if not kept:
            raise ExportError(f'{out}: there is no episode to export')
        writer.close()
        verify_dataset(folder, kept)
    return ExportSummary(out, len(kept), writer.frames, tuple(writer.cameras))


class _Writer:
    def __init__(self, folder: Path, options: LeRobotOptions) -> None:
        self.frames = 0
        self.cameras: dict[str, CameraTrack] = {}
        self._folder = folder
        self._options = options
        self._first: Episode | None = None
        self._fps = 0
        self._features: dict[str, Column] = {}
        self._statistics: dict[str, ValueStatistics] = {}
        self._tasks: dict[str, int] = {}
        self._rows: list[dict[str, Any]] = []
        self._table: pq.ParquetWriter | None = None
        self._table_path = folder
        self._file = -1

    def add(self, episode: Episode, progress: Progress) -> None:
        found = columns(episode)
        if self._first is None:
            self._begin(episode, found)
        self._check_fits(episode, found)
        videos = [track.add(episode, progress).row() for track in self.cameras.values()]
        number = len(self._rows)
        task = self._tasks.setdefault(episode.facts.task_text or 'unnamed task', len(self._tasks))
        place = self._write_table(episode, found, number, task)
        for name, column in found.items():
            if column.dtype != 'string':
                values = column.values.reshape(len(episode), -1)
                self._statistics.setdefault(name, ValueStatistics()).add(values)
        row: dict[str, Any] = {
            'episode_index': number,
            'tasks': [list(self._tasks)[task]],
            'length': len(episode),
            **place,
            'dataset_from_index': self.frames,
            'dataset_to_index': self.frames + len(episode),
        }
        for video in videos:
            row |= video
        self._rows.append(row | self._episode_columns(episode))
        self.frames += len(episode)

    def close(self) -> None:
        if self._table is not None:
            self._table.close()
        for track in self.cameras.values():
            track.close()
        meta = self._folder / 'meta'
        (meta / 'episodes/chunk-000').mkdir(parents=True)
        names = dict.fromkeys(name for row in self._rows for name in row)
        episodes = pa.table({name: [row.get(name) for row in self._rows] for name in names})
        pq.write_table(episodes, meta / 'episodes/chunk-000/file-000.parquet')
        self._write_tasks(meta / 'tasks.parquet')
        statistics = {name: s.result() for name, s in self._statistics.items()}
        statistics |= {track.key: track.statistics.result() for track in self.cameras.values()}
        (meta / 'stats.json').write_text(json.dumps(statistics, indent=1))
        (meta / 'info.json').write_text(json.dumps(self._info(), indent=1))

    def _begin(self, episode: Episode, found: dict[str, Column]) -> None:
        self._first = episode
        self._features = found
        fps = 1e9 / episode.period_ns
        self._fps = round(fps)
        if abs(fps - self._fps) > 1e-3 or not self._fps:
            raise ExportError(
                f'{episode.name}: LeRobot needs a whole number of frames per second, found '
                f'{fps:.4f}: align at another rate'
            )
        for camera in episode.cameras:
            self._track(camera, episode, camera, self._options.codec)
            if episode.rig_camera(camera).depth in episode.frames:
                self._track(f'{camera}_depth', episode, camera, None)

    def _track(
        self, name: str, episode: Episode, camera: str, codec: VideoCodec | None
    ) -> None:
        self.cameras[name] = CameraTrack(
            self._folder, episode, camera, fps=self._fps, codec=codec
        )

    def _check_fits(self, episode: Episode, found: dict[str, Column]) -> None:
        first = self._first
        assert first is not None
        if round(1e9 / episode.period_ns) != self._fps:
            raise ExportError(
                f'{episode.name}: {1e9 / episode.period_ns:.3f} Hz, '
                f'but {first.name} has {self._fps} Hz'
            )
        shapes = {name: (column.shape, column.names) for name, column in found.items()}
        expected = {name: (column.shape, column.names) for name, column in self._features.items()}
        for name in {*shapes, *expected}:
            if shapes.get(name) != expected.get(name):
                raise ExportError(
                    f"{episode.name}: feature '{name}' is {shapes.get(name, 'absent')}, "
                    f'in {first.name} it is {expected.get(name, "absent")}'
                )
        if episode.cameras != first.cameras:
            raise ExportError(
                f'{episode.name}: cameras {episode.cameras}, but {first.name} has {first.cameras}'
            )

    def _write_table(
        self, episode: Episode, found: dict[str, Column], number: int, task: int
    ) -> dict[str, int]:
        """Write one row group and return where: chunk and file index."""
        m = len(episode)
        frame = np.arange(m)
        arrays = {
            'timestamp': pa.array((frame / self._fps).astype(np.float32)),
            'frame_index': pa.array(frame),
            'episode_index': pa.array(np.full(m, number)),
            'index': pa.array(self.frames + frame),
            'task_index': pa.array(np.full(m, task)),
            **{name: _array(column) for name, column in found.items()},
        }
        table = pa.table(arrays)
        if self._table is None or self._table_path.stat().st_size > DATA_FILE_MB * 2**20:
            self._next_file(table.schema)
        assert self._table is not None
        self._table.write_table(table, row_group_size=m)
        for name in ('timestamp', 'frame_index', 'episode_index', 'index', 'task_index'):
            values = arrays[name].to_numpy()[:, None]
            self._statistics.setdefault(name, ValueStatistics()).add(values)
        return {'data/chunk_index': self._file // CHUNK, 'data/file_index': self._file % CHUNK}

    def _next_file(self, schema: pa.Schema) -> None:
        if self._table is not None:
            self._table.close()
        self._file += 1
        name = DATA_PATH.format(chunk_index=self._file // CHUNK, file_index=self._file % CHUNK)
        self._table_path = self._folder / name
        self._table_path.parent.mkdir(parents=True, exist_ok=True)
        self._table = pq.ParquetWriter(self._table_path, schema)

    def _episode_columns(self, episode: Episode) -> dict[str, Any]:
        facts = episode.facts
        return {
            'content_id': episode.id,
            'bag': episode.name,
            'grade': facts.grade,
            'operator': facts.operator_id,
            'session': facts.session_id,
            'location': facts.location,
            'interventions': len(episode.interventions),
            'start_ns': int(episode.grid_ns[0]),
            **self._options.extra.get(episode.id, {}),
        }

    def _write_tasks(self, path: Path) -> None:
        """Write the tasks; LeRobot reads their text from the pandas index, in the metadata."""
        table = pa.table({'task_index': list(self._tasks.values()), 'task': list(self._tasks)})
        pandas = {
            'index_columns': ['task'],
            'column_indexes': [],
            'columns': [
                _pandas_column('task_index', 'int64', 'int64'),
                _pandas_column('task', 'unicode', 'object'),
            ],
            'pandas_version': '2.0.0',
        }
        metadata = {'pandas': json.dumps(pandas)}
        pq.write_table(table.replace_schema_metadata(metadata), path)

    def _info(self) -> dict[str, Any]:
        assert self._first is not None
        counters = ('frame_index', 'episode_index', 'index', 'task_index')
        return {
            'codebase_version': VERSION,
            'robot_type': self._first.rig.robot_type or None,
            'total_episodes': len(self._rows),
            'total_frames': self.frames,
            'total_tasks': len(self._tasks),
            'chunks_size': CHUNK,
            'data_files_size_in_mb': DATA_FILE_MB,
            'video_files_size_in_mb': VIDEO_FILE_MB,
            'fps': self._fps,
            'splits': {'train': f'0:{len(self._rows)}'},
            'data_path': DATA_PATH,
            'video_path': VIDEO_PATH if self.cameras else None,
            'features': {
                **{name: _feature(column) for name, column in self._features.items()},
                **{track.key: track.feature() for track in self.cameras.values()},
                'timestamp': {'dtype': 'float32', 'shape': [1], 'names': None},
                **{name: {'dtype': 'int64', 'shape': [1], 'names': None} for name in counters},
            },
        }


def _feature(column: Column) -> dict[str, Any]:
    names = list(column.names) if column.names else None
    return {'dtype': column.dtype, 'shape': list(column.shape), 'names': names}


def _array(column: Column) -> pa.Array:
    if column.dtype == 'string':
        return pa.array(column.values.tolist(), pa.string())
    if column.values.ndim == 1:
        return pa.array(column.values)
    flat = pa.array(np.ascontiguousarray(column.values).reshape(-1))
    if column.shape == (1,):
        return flat
    return pa.FixedSizeListArray.from_arrays(flat, column.shape[0])


def _pandas_column(name: str, kind: str, numpy_type: str) -> dict[str, Any]:
    return {
        'name': name,
        'field_name': name,
        'pandas_type': kind,
        'numpy_type': numpy_type,
        'metadata': None,
    }

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Aligned episodes as a LeRobot dataset v3.0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from curation.align.episode import Episode
from curation.exceptions import ExportError
from curation.export.action import ActionSource
from curation.export.arrays import facts_of, no_progress, Progress
from curation.export.existing import COUNTS, Existing, EXPORT, OWN, read_existing
from curation.export.features import Column, columns
from curation.export.fit import Layout, layout_of, require_fit
from curation.export.images import Shape
from curation.export.joined import CHUNK, JoinedVideo
from curation.export.segments import (
    colour_statistics,
    depth_statistics,
    Encoded,
    read_segment,
    Segment,
    segment_of,
    write_segment,
)
from curation.export.staging import assembled, discard, link_or_copy, restore
from curation.export.statistics import ImageStatistics, ValueStatistics
from curation.export.tables import (
    COUNTERS,
    DATA_PATH,
    data_table,
    DataFiles,
    episode_table,
    values_of,
    write_tasks,
)
from curation.export.verify import verify_dataset, Written
from curation.export.video import CODECS, DEPTH_CODEC, VideoCodec
from curation.manifests.weights import WeightOptions
from curation.work import Executor, Failure, Kind, make_executor

VERSION = 'v3.0'
DATA_FILE_MB = 100
VIDEO_FILE_MB = 200
VIDEO_PATH = 'videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4'
_NO_EPISODE = 'there is no episode to export'


@dataclass(frozen=True)
class LeRobotOptions:
    """How to export.

    ``extra`` gives each episode id columns of its own, such as its score; ``manifest`` is the hash
    of the frozen list that the episodes are, empty without one, and ``weights`` its episodes' own.
    With ``passthrough``, video that is in the codec already and fits the grid is copied.
    """

    codec: VideoCodec = CODECS['h264']
    shape: Shape = field(default_factory=Shape)
    action: ActionSource = ActionSource.EXECUTED
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    passthrough: bool = False
    manifest: str = ''
    weighting: WeightOptions = field(default_factory=WeightOptions)
    weights: Mapping[str, float] = field(default_factory=dict)

    def declared(self) -> dict[str, Any]:
        """Return what episodes of one dataset must share, as the dataset says it."""
        return {
            'action': self.action.value,
            'codec': self.codec.name,
            'encoder': self.codec.encoder,
            'options': self.codec.encoder_options(),
            'size': [self.shape.width, self.shape.height] if self.shape.width else None,
            'crop': list(self.shape.crop) if self.shape.crop else None,
            'resized_by': {'colour': 'area', 'depth': 'nearest'},
            'passthrough': self.passthrough,
            'weights': self.weighting.document(),
        }


@dataclass(frozen=True)
class ExportSummary:
    """What was written; ``appended`` counts the new ones of its episodes."""

    path: Path
    episodes: int
    frames: int
    cameras: tuple[str, ...]
    appended: int = 0


def export_lerobot(
    episodes: Iterable[Episode],
    out: Path,
    options: LeRobotOptions = LeRobotOptions(),
    *,
    append: bool = False,
    executor: Executor | None = None,
    progress: Progress = no_progress,
) -> ExportSummary:
    """Write episodes, in order, as the dataset folder ``out``, which must not exist.

    With ``append`` it must, and episodes that it has not yet are added; files that are there are
    not written again. All is written beside ``out``, read back, and renamed only then; a run that
    was stopped goes on with the videos that are missing. Raises ExportError where episodes don't
    fit together (joints, rate, cameras) or what was written does not read back.
    """
    given = list(episodes)
    if not given:
        raise ExportError(f'{out}: {_NO_EPISODE}')
    restore(out)
    old = read_existing(out) if append else None
    known = {(row['content_id'], row['part']) for row in old.rows} if old else set()
    new = [episode for episode in given if (episode.id, episode.part) not in known]
    layout = layout_of(new or given, options.action)
    require_fit(new, layout, options.action)
    if old is not None:
        _require_same(old, layout, options)
        if not new:
            return ExportSummary(out, len(old.rows), old.info['total_frames'], layout.cameras)
    try:
        with assembled(out, _key(new, options, old), append=append) as (parts, whole):
            writer = _Writer(whole, layout, options, old)
            jobs = [
                _segments(parts / f'{number:06d}', episode, layout, options)
                for number, episode in enumerate(new)
            ]
            _encode(jobs, new, executor or make_executor(Kind.THREADS), progress)
            written = [
                writer.add(episode, segments)
                for episode, segments in zip(new, jobs, strict=True)
            ]
            writer.close()
            verify_dataset(whole, written)
    except ExportError as error:
        if not isinstance(error.__cause__, OSError):
            discard(out)  # another try would end the same way
        raise
    return ExportSummary(out, len(writer.rows), writer.frames, layout.cameras, len(new))


def _segments(
    folder: Path, episode: Episode, layout: Layout, options: LeRobotOptions
) -> list[Segment]:
    return [
        segment_of(
            episode, camera, folder / f'{key}.mp4', fps=layout.fps, shape=options.shape,
            codec=DEPTH_CODEC if depth else options.codec, depth=depth,
            passthrough=options.passthrough,
        )
        for key, (camera, depth) in layout.videos.items()
    ]


def _encode(
    jobs: Sequence[Sequence[Segment]],
    episodes: Sequence[Episode],
    executor: Executor,
    progress: Progress,
) -> None:
    flat = [segment for segments in jobs for segment in segments]
    total = sum(len(segment.indices) for segment in flat)
    done = 0
    for segment, result in zip(flat, executor.run(write_segment, flat), strict=True):
        if isinstance(result, Failure):
            raise result.error
        done += len(segment.indices)
        progress(segment.name, done, total)


class _Writer:
    """Joins what was encoded into files, and writes the tables beside them."""

    def __init__(
        self, folder: Path, layout: Layout, options: LeRobotOptions, old: Existing | None
    ) -> None:
        self.rows: list[dict[str, Any]] = list(old.rows) if old else []
        self.frames: int = old.info['total_frames'] if old else 0
        self._new: list[dict[str, Any]] = []
        self._folder, self._layout, self._options, self._old = folder, layout, options, old
        self._tasks: dict[str, int] = dict(old.tasks) if old else {}
        self._values: dict[str, ValueStatistics] = {}
        self._pixels: dict[str, ImageStatistics] = {}
        self._shapes: dict[str, Encoded] = {}
        self._data = DataFiles(
            folder, file=old.next_file('data') if old else 0, file_bytes=DATA_FILE_MB * 2**20)
        self._videos = {
            key: JoinedVideo(
                folder, key, fps=layout.fps, file_bytes=VIDEO_FILE_MB * 2**20,
                file=old.next_file(f'videos/{key}') if old else 0)
            for key in layout.videos
        }
        for key, (_, depth) in layout.videos.items():
            self._pixels[key] = depth_statistics() if depth else colour_statistics()
            if old is not None:
                self._pixels[key].merge(old.counts[key])
        if old is not None:
            for name in old.files():
                link_or_copy(old.folder / name, folder / name)
            for table in old.tables():
                self._count(table)

    def add(self, episode: Episode, segments: Sequence[Segment]) -> Written:
        options = self._options
        found = columns(
            episode, options.action, options.weighting, options.weights.get(episode.id, 1.0))
        number, m = len(self.rows), len(episode)
        task = self._tasks.setdefault(episode.facts.task_text or 'unnamed task', len(self._tasks))
        table = data_table(
            found, fps=self._layout.fps, episode=number, first=self.frames, task=task)
        place = self._data.add(table)
        self._count(table)
        row: dict[str, Any] = {
            'episode_index': number,
            'tasks': [list(self._tasks)[task]],
            'length': m,
            **place,
            'dataset_from_index': self.frames,
            'dataset_to_index': self.frames + m,
        }
        for (key, video), segment in zip(self._videos.items(), segments, strict=True):
            encoded = read_segment(segment)
            first = self._shapes.setdefault(key, replace(encoded, witnesses={}))
            if (encoded.height, encoded.width, encoded.unit) != (
                first.height, first.width, first.unit
            ):
                raise ExportError(
                    f'{segment.name}: {encoded.width}×{encoded.height} {encoded.unit}, others '
                    f'have {first.width}×{first.height} {first.unit}')
            row |= video.add(encoded.path, m).row()
            self._pixels[key].merge(encoded.statistics.counts)
        row |= {**facts_of(episode), 'part': episode.part}
        row |= self._options.extra.get(episode.id, {})
        self.rows.append(row)
        self._new.append(row)
        self.frames += m
        return Written(episode.name, row, table, dict(zip(self._videos, segments, strict=True)))

    def close(self) -> None:
        self._data.close()
        for video in self._videos.values():
            video.close()
        meta = self._folder / 'meta'
        number = len(list((meta / 'episodes').glob('*/*.parquet')))
        schema = self._old.schema if self._old else None
        path = meta / f'episodes/chunk-{number // CHUNK:03d}/file-{number % CHUNK:03d}.parquet'
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(episode_table(self._new, schema, str(self._folder)), path)
        write_tasks(meta / 'tasks.parquet', self._tasks)
        statistics = {name: s.result() for name, s in self._values.items()}
        statistics |= {key: s.result() for key, s in self._pixels.items()}
        (meta / 'stats.json').write_text(json.dumps(statistics, indent=1))
        (meta / 'info.json').write_text(json.dumps(self._info(), indent=1))
        (self._folder / OWN).mkdir()
        declared = {**self._options.declared(), 'manifest': self._options.manifest}
        (self._folder / EXPORT).write_text(json.dumps(declared, indent=1))
        counts: dict[str, Any] = {key: s.counts for key, s in self._pixels.items()}
        np.savez(self._folder / COUNTS, **counts)

    def _count(self, table: Any) -> None:
        for name in ('timestamp', *COUNTERS, *self._layout.features):
            column = self._layout.features.get(name)
            if column is None or column.dtype != 'string':
                values = values_of(table, name).reshape(len(table), -1)
                self._values.setdefault(name, ValueStatistics()).add(values)

    def _info(self) -> dict[str, Any]:
        layout = self._layout
        features = {name: _feature(column) for name, column in layout.features.items()}
        for key, (_, depth) in layout.videos.items():
            features[key] = layout.video_feature(
                self._shapes[key], DEPTH_CODEC if depth else self._options.codec, depth=depth)
        features['timestamp'] = {'dtype': 'float32', 'shape': [1], 'names': None}
        features |= {name: {'dtype': 'int64', 'shape': [1], 'names': None} for name in COUNTERS}
        return {
            'codebase_version': VERSION,
            'robot_type': layout.robot_type or None,
            'total_episodes': len(self.rows),
            'total_frames': self.frames,
            'total_tasks': len(self._tasks),
            'chunks_size': CHUNK,
            'data_files_size_in_mb': DATA_FILE_MB,
            'video_files_size_in_mb': VIDEO_FILE_MB,
            'fps': layout.fps,
            'splits': {'train': f'0:{len(self.rows)}'},
            'data_path': DATA_PATH,
            'video_path': VIDEO_PATH if layout.videos else None,
            'features': features,
        }


def _feature(column: Column) -> dict[str, Any]:
    names = list(column.names) if column.names else None
    return {'dtype': column.dtype, 'shape': list(column.shape), 'names': names}


def _require_same(old: Existing, layout: Layout, options: LeRobotOptions) -> None:
    """Raise ExportError where new episodes would differ in kind from those that are there."""
    for what, found, expected in (
        ('export options', options.declared(), {k: v for k, v in old.export.items()
                                                if k != 'manifest'}),
        ('rate', layout.fps, old.info['fps']),
        ('videos', sorted(layout.videos), sorted(old.counts)),
        ('features', {n: _feature(c) for n, c in layout.features.items()},
         {n: f for n, f in old.info['features'].items() if n in layout.features}),
    ):
        if found != expected:
            raise ExportError(
                f'{old.folder}: expected the {what} of its episodes, {expected}, found {found}')


def _key(episodes: Sequence[Episode], options: LeRobotOptions, old: Existing | None) -> str:
    """Return what a resumed run must share: options, rig, episodes, and what it appends to."""
    shared: list[Any] = [options.declared(), repr(episodes[0].rig)]
    shared.append([(episode.id, episode.part) for episode in episodes])
    shared.append([row['content_id'] for row in old.rows] if old else None)
    digest = hashlib.sha256(json.dumps(shared, sort_keys=True).encode())
    for episode in episodes:
        digest.update(episode.grid_ns.tobytes())
    return digest.hexdigest()

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Read LeRobot datasets (v2.1 and v3) as recordings, so that they are checked as bags are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from curation.align.episode import Facts, Image, Times, Values
from curation.align.series import Recording, Series
from curation.bag.model import Problem
from curation.exceptions import BagError, DecodeError
from curation.sources.table import ALL, content_id, image_series, joint_series
from curation.sources.video import VideoFile
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.schema import Camera, Clock, Joint, Rig, Role, Stream

_SNAP_NS = (
    100_000  # timestamps are float32 seconds: nearer than this to a frame's time, they are it
)
_PERIODS_OF_AGE = 3


@dataclass(frozen=True)
class _Place:
    """Where an episode's rows and videos are; ``video`` gives file and start, s, by feature."""

    index: int
    data: Path
    task: str
    video: Mapping[str, tuple[Path, float]]


def is_lerobot(path: Path) -> bool:
    """Tell whether a folder is a LeRobot dataset."""
    return (path / 'meta' / 'info.json').is_file()


class LeRobotSource:
    """A LeRobot dataset; BagError where its metadata can't be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._info: dict[str, Any] = json.loads((path / 'meta' / 'info.json').read_text())
            self._features: dict[str, dict[str, Any]] = self._info['features']
            self._fps = float(self._info['fps'])
            self.version = str(self._info.get('codebase_version', 'v2.1'))
            self._cameras = {
                name: feature
                for name, feature in self._features.items()
                if feature['dtype'] in ('video', 'image')
            }
            self.rig = self._draft_rig()
            self._places = self._find_v3() if self.version.startswith('v3') else self._find_v2()
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowInvalid) as error:
            raise BagError(
                f'{path}: expected a LeRobot dataset v2.1 or v3, found meta/ unusable ({error!r})'
            ) from error

    def __len__(self) -> int:
        return len(self._places)

    def recordings(self, part: slice = ALL) -> Iterator[Recording]:
        """Yield episodes; one that can't be read is an empty recording with its problem."""
        for place in self._places[part]:
            try:
                yield self._recording(place)
            except (OSError, pa.ArrowException, KeyError, ValueError) as error:
                yield self._unreadable(place, error)

    def _draft_rig(self) -> Rig:
        joints = tuple(Joint(name) for name in _names(self._features['observation.state']))
        age = round(_PERIODS_OF_AGE * NANOSECONDS / self._fps)

        def stream(name: str, topic: str, role: Role, type_: str = '') -> Stream:
            return Stream(name, topic, type_, role, rate_hz=self._fps, max_age_ns=age)

        streams = [stream('state', 'observation.state', Role.STATE)]
        if 'action' in self._features:
            streams.append(stream('action', 'action', Role.ACTION))
        names = {name: name.rsplit('.', 1)[-1] for name in self._cameras}
        streams += [stream(short, name, Role.CAMERA) for name, short in names.items()]
        return Rig(
            name=self.path.name,
            robot_type=str(self._info.get('robot_type') or ''),
            clock=Clock.ROS,
            joints=joints,
            streams=tuple(streams),
            cameras=tuple(Camera(short, image=short) for short in names.values()),
            path=str(self.path),
        )

    def _find_v2(self) -> list[_Place]:
        places = []
        chunk_size = int(self._info.get('chunks_size') or 1000)
        lines = (self.path / 'meta' / 'episodes.jsonl').read_text().splitlines()
        for line in lines:
            episode = json.loads(line)
            index = int(episode['episode_index'])
            keys = {'episode_chunk': index // chunk_size, 'episode_index': index}
            video = {
                name: (self.path / self._info['video_path'].format(video_key=name, **keys), 0.0)
                for name, feature in self._cameras.items()
                if feature['dtype'] == 'video'
            }
            places.append(
                _Place(
                    index,
                    self.path / self._info['data_path'].format(**keys),
                    str((episode.get('tasks') or [''])[0]),
                    video,
                )
            )
        return places

    def _find_v3(self) -> list[_Place]:
        places = []
        for file in sorted((self.path / 'meta' / 'episodes').glob('*/*.parquet')):
            for row in pq.read_table(file).to_pylist():
                data = self._info['data_path'].format(
                    chunk_index=row['data/chunk_index'], file_index=row['data/file_index']
                )
                video = {}
                for name, feature in self._cameras.items():
                    if feature['dtype'] != 'video':
                        continue
                    at = f'videos/{name}'
                    file_name = self._info['video_path'].format(
                        video_key=name,
                        chunk_index=row[f'{at}/chunk_index'],
                        file_index=row[f'{at}/file_index'],
                    )
                    video[name] = (self.path / file_name, float(row[f'{at}/from_timestamp']))
                places.append(
                    _Place(
                        int(row['episode_index']),
                        self.path / data,
                        str((row.get('tasks') or [''])[0]),
                        video,
                    )
                )
        return places

    def _recording(self, place: _Place) -> Recording:
        table = pq.read_table(place.data)
        table = table.filter(pc.equal(table['episode_index'], place.index))
        stamps = self._stamps(table)
        series: dict[str, Series] = {}
        frames: dict[str, Callable[[int], Image]] = {}
        missing: list[Stream] = []
        for stream in self.rig.streams:
            if stream.role is Role.CAMERA:
                source = self._frames(stream.topic, place, table, len(stamps))
                if source is None:
                    missing.append(stream)
                    continue
                frames[stream.name] = source
                series[stream.name] = image_series(stream, stamps)
            else:
                values = _matrix(table[stream.topic])
                names = (
                    self.rig.joint_names
                    if stream.role is Role.STATE
                    else _names(self._features[stream.topic])
                )
                series[stream.name] = joint_series(stream, stamps, values, names)
        return Recording(
            id=content_id(series),
            name=f'episode_{place.index:06d}',
            path=str(self.path),
            rig=self.rig,
            facts=Facts({'task': place.task, 'task_text': place.task}),
            series=series,
            missing=tuple(missing),
            interventions=(),
            frames=frames,
        )

    def _stamps(self, table: pa.Table) -> Times:
        seconds = table['timestamp'].to_numpy().astype(np.float64).reshape(-1)
        stamps = np.round(seconds * NANOSECONDS).astype(np.int64)
        nearest = np.round(np.round(seconds * self._fps) * NANOSECONDS / self._fps).astype(
            np.int64
        )
        snapped = np.where(np.abs(stamps - nearest) < _SNAP_NS, nearest, stamps)
        return np.asarray(snapped, np.int64)

    def _frames(
        self, name: str, place: _Place, table: pa.Table, count: int
    ) -> Callable[[int], Image] | None:
        if name in place.video:
            file, start = place.video[name]
            return VideoFile(file, start, self._fps, count) if file.is_file() else None
        return _ImageColumn(table[name]) if name in table.column_names else None

    def _unreadable(self, place: _Place, error: Exception) -> Recording:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        problem = Problem(f"{place.data}: can't be read ({reason})")
        return Recording(
            id='',
            name=f'episode_{place.index:06d}',
            path=str(self.path),
            rig=self.rig,
            facts=Facts({'task': place.task}),
            series={},
            missing=self.rig.streams,
            interventions=(),
            problems=(problem,),
        )


class _ImageColumn:
    """Images that lie in the parquet file itself."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __call__(self, index: int) -> Image:
        import cv2

        data = self._column[index].as_py()
        pixels = cv2.imdecode(np.frombuffer(data['bytes'], np.uint8), cv2.IMREAD_COLOR)
        if pixels is None:
            raise DecodeError(f'image {index} of the dataset is broken')
        return np.ascontiguousarray(pixels[..., ::-1])


def _names(feature: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a vector's names, which datasets write as a list, a nested list or a mapping."""
    names = feature.get('names')
    while isinstance(names, dict) and names:
        names = next(iter(names.values()))
    while isinstance(names, list) and len(names) == 1 and isinstance(names[0], list):
        names = names[0]
    size = int(feature['shape'][0])
    if not isinstance(names, list) or len(names) != size or len(set(map(str, names))) != size:
        return tuple(f'joint_{i}' for i in range(size))
    return tuple(str(name) for name in names)


def _matrix(column: pa.ChunkedArray) -> Values:
    column = column.combine_chunks()
    flat = (
        column.flatten()
        if not isinstance(column, pa.ChunkedArray)
        else pa.concat_arrays([chunk.flatten() for chunk in column.chunks])
    )
    return np.asarray(flat.to_numpy(zero_copy_only=False), np.float64).reshape(len(column), -1)

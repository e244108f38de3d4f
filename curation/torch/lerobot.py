# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Training from a LeRobot v3 dataset: values from Parquet, frames decoded from their videos."""

from __future__ import annotations

from collections.abc import Mapping
import json
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray
import pyarrow as pa
import pyarrow.parquet as pq

from curation.exceptions import ExportError
from curation.torch.cache import ProcessCache
from curation.torch.source import ACTION, INTERVENTION, STATE, VALID, WEIGHT

_KEY = 'observation.images.'


class LeRobotSource:
    """A LeRobot v3 dataset as episodes. Depth is left out, as other features are.

    Raises ExportError where the folder is none.
    """

    def __init__(
        self, folder: Path, *, open_videos: int = 32, open_episodes: int = 256
    ) -> None:
        try:
            self._info = json.loads((folder / 'meta/info.json').read_text())
            self._rows = pq.read_table(folder / 'meta/episodes').to_pylist()
        except (OSError, ValueError, pa.ArrowException) as error:
            raise ExportError(f'{folder}: expected a LeRobot dataset, found {error}') from error
        features = self._info['features']
        self.cameras = tuple(
            key.removeprefix(_KEY) for key, feature in features.items()
            if feature['dtype'] == 'video' and not feature.get('info', {}).get('is_depth_map')
        )
        self.lengths = np.array([row['length'] for row in self._rows], np.int64)
        self._folder = folder
        wanted = (STATE, ACTION, INTERVENTION, VALID, WEIGHT)
        self._columns = [name for name in wanted if name in features]
        self._tables: ProcessCache[int, dict[str, NDArray[Any]]] = ProcessCache(open_episodes)
        self._files: ProcessCache[Path, pa.Table] = ProcessCache(4)
        self._videos: ProcessCache[Path, _Video] = ProcessCache(open_videos, _Video.close)

    def numbers(self, episode: int) -> Mapping[str, NDArray[Any]]:
        """Return an episode's columns."""
        return self._tables.get(episode, lambda: self._read(self._rows[episode]))

    def frame(self, episode: int, camera: str, i: int) -> NDArray[np.uint8]:
        """Return the image at a sample, (h, w, 3) RGB."""
        row = self._rows[episode]
        key = _KEY + camera
        path = self._folder / self._info['video_path'].format(
            video_key=key, chunk_index=row[f'videos/{key}/chunk_index'],
            file_index=row[f'videos/{key}/file_index'])
        fps = self._info['fps']
        first = round(row[f'videos/{key}/from_timestamp'] * fps)
        return self._videos.get(path, lambda: _Video(path, fps)).frame(first + i)

    def _read(self, row: dict[str, Any]) -> dict[str, NDArray[Any]]:
        path = self._folder / self._info['data_path'].format(
            chunk_index=row['data/chunk_index'], file_index=row['data/file_index'])
        # without threads, which a forked worker would not have
        table = self._files.get(path, lambda: pq.ParquetFile(path).read(
            [*self._columns, 'episode_index'], use_threads=False))
        own = np.flatnonzero(table['episode_index'].to_numpy() == row['episode_index'])
        part = table.slice(own[0], len(own))
        columns = {name: np.array(part[name].to_pylist()) for name in self._columns}
        columns.setdefault(INTERVENTION, np.zeros(row['length'], np.bool_))
        return columns


class _Video:
    """One file, read on from where it is: seeks only backwards or past the next key frame."""

    def __init__(self, path: Path, fps: int) -> None:
        self._path = path
        self._container = av.open(str(path))
        self._stream = self._container.streams.video[0]
        self._fps = fps
        self._next = 0
        self._frames = self._container.decode(self._stream)

    def frame(self, number: int) -> NDArray[np.uint8]:
        """Return the frame of that number, (h, w, 3) RGB; ExportError where there is none."""
        if not self._next <= number < self._next + 4:
            assert self._stream.time_base is not None
            tick = round(number / self._fps / self._stream.time_base)
            self._container.seek(tick, stream=self._stream)
            self._frames = self._container.decode(self._stream)
        for frame in self._frames:
            found = round(frame.time * self._fps)
            self._next = found + 1
            if found == number:
                return np.asarray(frame.to_ndarray(format='rgb24'), np.uint8)
        raise ExportError(f'{self._path}: no frame {number}')

    def close(self) -> None:
        """Close the file."""
        self._container.close()

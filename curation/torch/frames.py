# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Training from the frames export (``flywheel export --format frames``): no video is decoded."""

from __future__ import annotations

from collections.abc import Mapping
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pyarrow as pa
import pyarrow.parquet as pq

from curation.exceptions import ExportError
from curation.export.frames import decode_image, FORMAT
from curation.torch.cache import ProcessCache


class FramesSource:
    """A frames export as episodes; opening reads its index only.

    Raises ExportError where the folder is none.
    """

    def __init__(self, folder: Path, *, open_episodes: int = 256) -> None:
        try:
            info = json.loads((folder / 'info.json').read_text())
            self.lengths = pq.read_table(
                folder / 'episodes.parquet', columns=['length'])['length'].to_numpy()
        except (OSError, ValueError, KeyError, pa.ArrowException) as error:
            raise ExportError(f'{folder}: expected a frames export, found {error}') from error
        if info.get('format') != FORMAT:
            raise ExportError(
                f"{folder}: expected the format '{FORMAT}', found '{info.get('format')}'")
        self.cameras = tuple(info['cameras'])
        self._folder = folder
        self._tables: ProcessCache[int, dict[str, NDArray[Any]]] = ProcessCache(open_episodes)
        self._packs: ProcessCache[tuple[int, str], int] = ProcessCache(open_episodes, os.close)

    def numbers(self, episode: int) -> Mapping[str, NDArray[Any]]:
        """Return an episode's columns."""
        path = self._folder / f'episodes/{episode:06d}.parquet'
        return self._tables.get(episode, lambda: _read(path))

    def frame(self, episode: int, camera: str, i: int) -> NDArray[np.uint8]:
        """Return the image at a sample, (h, w, 3) RGB."""
        rows = self.numbers(episode)
        path = self._folder / f'frames/{camera}/{episode:06d}.bin'
        pack = self._packs.get((episode, camera), lambda: os.open(path, os.O_RDONLY))
        size = int(rows[f'frame.{camera}.size'][i])
        return decode_image(os.pread(pack, size, int(rows[f'frame.{camera}.offset'][i])))


def _read(path: Path) -> dict[str, NDArray[Any]]:
    """Return the numeric columns of a table; lists become rows of a matrix."""
    # without threads, which a forked worker would not have
    table = pq.ParquetFile(path).read(use_threads=False)
    columns = {}
    for field in table.schema:
        column = table[field.name].combine_chunks()
        if pa.types.is_fixed_size_list(field.type):
            columns[field.name] = column.flatten().to_numpy().reshape(len(table), -1)
        elif not pa.types.is_string(field.type):
            columns[field.name] = column.to_numpy(zero_copy_only=False)
    return columns

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A LeRobot dataset that we wrote, as an export that appends to it must know it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pyarrow as pa
import pyarrow.parquet as pq

from curation.exceptions import ExportError
from curation.export.joined import CHUNK

OWN = 'meta/flywheel'              # beside what LeRobot reads: how it was made, and counts
EXPORT, COUNTS = f'{OWN}/export.json', f'{OWN}/counts.npz'


@dataclass(frozen=True)
class Existing:
    """What is there: ``rows`` of its episodes, ``counts`` of each camera's pixels."""

    folder: Path
    info: Mapping[str, Any]
    export: Mapping[str, Any]
    rows: list[dict[str, Any]]
    schema: pa.Schema
    tasks: dict[str, int]
    counts: dict[str, NDArray[np.int64]]

    def next_file(self, prefix: str) -> int:
        """Return the number after the last file's of ``data`` or ``videos/KEY``."""
        return 1 + max(
            int(row[f'{prefix}/chunk_index']) * CHUNK + int(row[f'{prefix}/file_index'])
            for row in self.rows
        )

    def files(self) -> Iterator[Path]:
        """Yield the paths of files that an appending export leaves as they are, relative."""
        for part in ('data', 'videos', 'meta/episodes'):
            for path in sorted((self.folder / part).rglob('*')):
                if path.is_file():
                    yield path.relative_to(self.folder)

    def tables(self) -> Iterator[pa.Table]:
        """Yield the data of every episode."""
        for path in sorted((self.folder / 'data').rglob('*.parquet')):
            file = pq.ParquetFile(path)
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)


def read_existing(folder: Path) -> Existing:
    """Read what there is; ExportError where the folder is no dataset that we wrote."""
    try:
        info = json.loads((folder / 'meta/info.json').read_text())
        export = json.loads((folder / EXPORT).read_text())
        episodes = pq.read_table(folder / 'meta/episodes')
        tasks = pq.read_table(folder / 'meta/tasks.parquet').to_pylist()
        with np.load(folder / COUNTS) as stored:
            counts = {key: stored[key] for key in stored.files}
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise ExportError(
            f'{folder}: expected a LeRobot dataset that flywheel exported, found {error}'
        ) from error
    return Existing(
        folder, info, export, episodes.to_pylist(), episodes.schema,
        {task['task']: task['task_index'] for task in tasks}, counts,
    )

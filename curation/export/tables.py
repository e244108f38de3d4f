# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The Parquet files of a LeRobot dataset: one row group an episode, files of bounded size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pyarrow as pa
import pyarrow.parquet as pq

from curation.exceptions import ExportError
from curation.export.features import Column
from curation.export.joined import CHUNK

DATA_PATH = 'data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet'
COUNTERS = ('frame_index', 'episode_index', 'index', 'task_index')


class DataFiles:
    """Appends episodes to numbered files, from ``file`` on."""

    def __init__(self, folder: Path, *, file: int, file_bytes: int) -> None:
        self._folder = folder
        self._file = file - 1
        self._file_bytes = file_bytes
        self._table: pq.ParquetWriter | None = None
        self._path = folder

    def add(self, table: pa.Table) -> dict[str, int]:
        """Write one row group and return where: chunk and file index."""
        if self._table is None or self._path.stat().st_size > self._file_bytes:
            self._next(table.schema)
        assert self._table is not None
        self._table.write_table(table, row_group_size=len(table))
        return {'data/chunk_index': self._file // CHUNK, 'data/file_index': self._file % CHUNK}

    def close(self) -> None:
        """Finish the last file."""
        if self._table is not None:
            self._table.close()

    def _next(self, schema: pa.Schema) -> None:
        self.close()
        self._file += 1
        name = DATA_PATH.format(chunk_index=self._file // CHUNK, file_index=self._file % CHUNK)
        self._path = self._folder / name
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._table = pq.ParquetWriter(self._path, schema)


def data_table(
    found: Mapping[str, Column], *, fps: int, episode: int, first: int, task: int
) -> pa.Table:
    """Return an episode's rows: LeRobot's counters and times, then the features."""
    m = len(found['timestamp_ns'].values)
    frame = np.arange(m)
    return pa.table(
        {
            'timestamp': pa.array((frame / fps).astype(np.float32)),
            'frame_index': pa.array(frame),
            'episode_index': pa.array(np.full(m, episode)),
            'index': pa.array(first + frame),
            'task_index': pa.array(np.full(m, task)),
            **{name: array_of(column) for name, column in found.items()},
        }
    )


def array_of(column: Column) -> pa.Array:
    """Return a column as LeRobot stores it: scalars, or lists of fixed size."""
    if column.dtype == 'string':
        return pa.array(column.values.tolist(), pa.string())
    values = np.ascontiguousarray(column.values, column.dtype)
    flat = pa.array(values.reshape(-1))
    return flat if column.shape == (1,) else pa.FixedSizeListArray.from_arrays(
        flat, column.shape[0])


def values_of(table: pa.Table, name: str) -> NDArray[Any]:
    """Return a stored column as (m,) or (m, d) values."""
    column = table[name].combine_chunks()
    if pa.types.is_fixed_size_list(column.type):
        flat: NDArray[Any] = column.flatten().to_numpy()
        return flat.reshape(len(table), -1)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def episode_table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema | None, where: str) -> Any:
    """Return rows of meta/episodes; columns without any value are numbers.

    ``schema`` is that of a dataset that is appended to; ExportError where they don't fit.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    if schema is None:
        arrays = {name: pa.array([row.get(name) for row in rows]) for name in names}
        return pa.table({
            name: array.cast(pa.float64()) if pa.types.is_null(array.type) else array
            for name, array in arrays.items()
        })
    if new := [name for name in names if name not in schema.names]:
        raise ExportError(f"{where}: expected the columns of its episodes, found also '{new[0]}'")
    try:
        return pa.Table.from_pylist(list(rows), schema=schema.remove_metadata())
    except (pa.ArrowException, TypeError) as error:
        raise ExportError(f'{where}: expected the columns of its episodes ({error})') from error


def write_tasks(path: Path, tasks: Mapping[str, int]) -> None:
    """Write the tasks; LeRobot reads their text from the pandas index, in the metadata."""
    table = pa.table({'task_index': list(tasks.values()), 'task': list(tasks)})
    pandas = {
        'index_columns': ['task'],
        'column_indexes': [],
        'columns': [
            _pandas_column('task_index', 'int64', 'int64'),
            _pandas_column('task', 'unicode', 'object'),
        ],
        'pandas_version': '2.0.0',
    }
    pq.write_table(table.replace_schema_metadata({'pandas': json.dumps(pandas)}), path)


def _pandas_column(name: str, kind: str, numpy_type: str) -> dict[str, Any]:
    return {
        'name': name,
        'field_name': name,
        'pandas_type': kind,
        'numpy_type': numpy_type,
        'metadata': None,
    }

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Bags altered anywhere and anyhow: what can be read is as it was, the rest is named."""

from __future__ import annotations

from functools import cache
from pathlib import Path
import tempfile

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from curation.bag.reader import open_bag
from curation.checks.run import check_recordings
from curation.sources.open import recordings
from support.streams import STATE, usual, write
from teleop_bridge.exceptions import FlywheelError

Message = tuple[str, int, bytes]
EDITS = st.lists(
    st.tuples(
        st.sampled_from(['flip', 'cut', 'drop', 'insert', 'zero', 'repeat']),
        st.floats(0, 1, exclude_max=True),
        st.integers(0, 255),
        st.integers(1, 64),
    ),
    min_size=1,
    max_size=4,
)


def altered(data: bytes, edits: list[tuple[str, float, int, int]]) -> bytes:
    """Return the bytes after the edits: kind, place as a part of the length, value, size."""
    out = bytearray(data)
    for kind, part, value, size in edits:
        at = int(part * len(out))
        if not out:
            break
        if kind == 'flip':
            out[at] ^= value or 1
        elif kind == 'cut':
            del out[at:]
        elif kind == 'drop':
            del out[at : at + size]
        elif kind == 'insert':
            out[at:at] = bytes([value]) * size
        elif kind == 'zero':
            out[at : at + size] = bytes(len(out[at : at + size]))
        else:
            out[at:at] = out[at : at + size]
    return bytes(out)


@cache
def source(storage: str) -> tuple[str, bytes, frozenset[Message]]:
    """Return a small bag's one storage file: its suffix, bytes and messages."""
    with tempfile.TemporaryDirectory() as folder:
        streams = usual()
        path = write(Path(folder) / 'bag', {STATE: streams[STATE][:60]}, storage=storage)
        file = next(f for f in path.iterdir() if f.suffix in ('.mcap', '.db3'))
        with open_bag(path) as bag:
            messages = frozenset((m.topic, m.log_ns, bytes(m.data)) for m in bag.messages())
        return file.suffix, file.read_bytes(), messages


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
@settings(
    max_examples=120,
    deadline=10_000,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(edits=EDITS)
def test_altered_file_is_read_as_it_was_or_refused_by_name(
    tmp_path: Path, storage: str, edits: list[tuple[str, float, int, int]]
) -> None:
    suffix, data, whole = source(storage)
    path = tmp_path / f'altered{suffix}'
    path.write_bytes(altered(data, edits))
    try:
        with open_bag(path) as bag:
            found = {(m.topic, m.log_ns, bytes(m.data)) for m in bag.messages()}
            named = any(problem.lost for problem in bag.problems)
    except FlywheelError:
        return
    if storage == 'mcap':  # sqlite3 has no checksums
        assert found <= whole
        assert found == whole or named


@settings(
    max_examples=40,
    deadline=20_000,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(edits=EDITS)
def test_altered_file_can_be_checked_or_is_refused_by_name(
    tmp_path: Path, edits: list[tuple[str, float, int, int]]
) -> None:
    suffix, data, _ = source('sqlite3')
    path = tmp_path / f'checked{suffix}'
    path.write_bytes(altered(data, edits))
    failed: list[FlywheelError] = []
    list(check_recordings(recordings([path], on_error=lambda _, e: failed.append(e))))

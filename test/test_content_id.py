# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The content id survives whatever leaves the data alone, and nothing else."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from mcap.writer import CompressionType, Writer
import pytest

from recorder.bag.content_id import content_id, ContentHash
from recorder.bag.mcap_reader import bag_file, read_messages
from support.bags import write_bag

Row = tuple[str, int, int, bytes]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(['/a', '/b']), st.integers(0, 5), st.integers(0, 3), st.binary(max_size=3)
    ),
    min_size=1,
    max_size=12,
)


def id_of(rows: list[Row]) -> str:
    content = ContentHash()
    for topic, log_ns, publish_ns, data in rows:
        content.add(topic, 'pkg/msg/Type', log_ns, publish_ns, data)
    return content.hexdigest()


def test_survives_rechunking_recompression_and_renaming(tmp_path: Path) -> None:
    write_bag(tmp_path / 'bag', rig='one')
    write_bag(tmp_path / 'other_name', rig='another rig file')
    expected = content_id(tmp_path / 'bag')
    assert len(expected) == 64
    assert content_id(tmp_path / 'other_name') == expected
    copy = tmp_path / 'copy.mcap'
    with open(copy, 'wb') as file:
        writer = Writer(file, compression=CompressionType.ZSTD, chunk_size=5000)
        writer.start(profile='ros2')
        channels: dict[str, int] = {}
        for message in read_messages(bag_file(tmp_path / 'bag')):
            if message.topic not in channels:
                schema = writer.register_schema(message.type, 'ros2msg', b'')
                channels[message.topic] = writer.register_channel(message.topic, 'cdr', schema)
            writer.add_message(
                channels[message.topic], message.log_ns, message.data, message.publish_ns
            )
        writer.finish()
    assert content_id(copy) == expected


def test_changes_with_one_message_more(tmp_path: Path) -> None:
    write_bag(tmp_path / 'a', messages=20)
    write_bag(tmp_path / 'b', messages=21)
    assert content_id(tmp_path / 'a') != content_id(tmp_path / 'b')


@given(ROWS, st.randoms())
def test_order_in_the_file_does_not_matter(rows: list[Row], random: object) -> None:
    shuffled = sorted(rows, key=lambda row: row[1])
    random.shuffle(rows)
    assert id_of(shuffled) == id_of(sorted(rows, key=lambda row: row[1]))


@given(ROWS, st.integers(0, 11), st.integers(0, 3))
def test_any_change_changes_it(rows: list[Row], at: int, what: int) -> None:
    rows = sorted(rows, key=lambda row: row[1])
    topic, log_ns, publish_ns, data = rows[at % len(rows)]
    changed = [
        ('/c', log_ns, publish_ns, data),
        (topic, 9, publish_ns, data),
        (topic, log_ns, 9, data),
        (topic, log_ns, publish_ns, data + b'x'),
    ][what]
    altered = [row for i, row in enumerate(rows) if i != at % len(rows)] + [changed]
    assert id_of(sorted(altered, key=lambda row: row[1])) != id_of(rows)


def test_missing_publish_time_counts_as_log_time_and_backward_times_are_refused() -> None:
    a, b = ContentHash(), ContentHash()
    a.add('/a', 't', 5, None, b'x')
    b.add('/a', 't', 5, 5, b'x')
    assert a.hexdigest() == b.hexdigest()
    with pytest.raises(ValueError, match='log-time order'):
        a.add('/a', 't', 4, 4, b'x')

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Reads a bag of ours back, for its content id, its verification and its facts.

Reading anybody's bag, with every other storage and fault, is curation's part.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recorder.bag.metadata import read_custom_data, RECORD_KEY, RECORD_NAME
from recorder.exceptions import BagCorruptError
from teleop_bridge.exceptions import MissingDependencyError

try:
    from mcap.reader import make_reader
except ImportError as error:
    raise MissingDependencyError(
        'reading bags needs the library mcap: pip install mcap'
    ) from error


class BagMessage(NamedTuple):
    """One message of a bag; times in ns."""

    topic: str
    type: str
    log_ns: int
    publish_ns: int
    data: bytes


def bag_file(bag: Path) -> Path:
    """Return the one MCAP file of a bag given by its folder or its file."""
    if bag.is_file():
        return bag
    files = sorted(bag.glob('*.mcap'))
    if len(files) != 1:
        raise BagCorruptError(f'{bag}: expected a folder with one .mcap file, found {len(files)}')
    return files[0]


def read_messages(path: Path) -> Iterator[BagMessage]:
    """Yield every message in log-time order; BagCorruptError where the file is not whole."""
    try:
        with open(path, 'rb') as file:
            reader = make_reader(file, validate_crcs=True)
            if reader.get_summary() is None:
                raise BagCorruptError(f'{path}: expected an index at its end, found none')
            for schema, channel, message in reader.iter_messages():
                yield BagMessage(
                    channel.topic,
                    schema.name if schema else '',
                    message.log_time,
                    message.publish_time,
                    message.data,
                )
    except BagCorruptError:
        raise
    except Exception as error:  # altered bytes make the library raise whatever they stumble over
        raise BagCorruptError(f'{path}: expected a whole MCAP file, found {error!r}') from error


def read_facts(path: Path) -> dict[str, str]:
    """Return the newest ``custom_data`` of an MCAP file; empty where it has none."""
    facts: dict[str, str] = {}
    try:
        with open(path, 'rb') as file:
            for record in make_reader(file).iter_metadata():
                if record.name == RECORD_NAME and RECORD_KEY in record.metadata:
                    facts.update(read_custom_data(record.metadata[RECORD_KEY], str(path)))
    except BagCorruptError:
        raise
    except Exception as error:  # altered bytes make the library raise whatever they stumble over
        raise BagCorruptError(f'{path}: expected a whole MCAP file, found {error!r}') from error
    return facts

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The one interface through which bags are written, whatever library stands behind it."""

from __future__ import annotations

from collections.abc import Mapping
import importlib.util
from pathlib import Path
from typing import Protocol

from recorder.bag.topic import TopicInfo

Arrival = tuple[bytes, int, int, 'int | None']
"""A message as it came: CDR bytes, when it was received (session time) and published (its
publisher's time), ns, and its publisher's sequence number. A plain tuple, for its speed."""


class BagWriter(Protocol):
    """Writes one bag: topics first, then their serialised messages, then close."""

    path: Path  # the bag's folder

    def add_topic(self, topic: TopicInfo) -> None:
        """Declare a topic; TopicError where the name is there already with another type."""

    def write(self, topic: str, data: bytes, log_time_ns: int, publish_time_ns: int) -> None:
        """Write one message's CDR bytes; TopicError for an undeclared topic, BagWriteError."""

    def sync(self) -> None:
        """Put everything written so far onto the disk, so that a power cut does not take it."""

    def counts(self) -> Mapping[str, int]:
        """Return the messages per topic that were handed to the system so far."""

    def close(self, custom_data: Mapping[str, str] | None = None) -> None:
        """Finish the bag, adding what is only known at its end (the episode's grade)."""


def has_rosbag2() -> bool:
    """Tell whether rosbag2_py can be imported here."""
    return importlib.util.find_spec('rosbag2_py') is not None


def default_storage() -> str:
    """Return ``mcap`` where that library is or rosbag2_py is not, else ``rosbag2``.

    rosbag2_py's writer keeps no small streams apart, compresses none alone, and syncs nothing.
    """
    has_mcap = importlib.util.find_spec('mcap') is not None
    return 'mcap' if has_mcap or not has_rosbag2() else 'rosbag2'


def open_bag(path: Path, *, custom_data: Mapping[str, str], storage: str = '') -> BagWriter:
    """Open a new bag at a folder that must not exist.

    ``custom_data`` is inside the MCAP from its first bytes. ``storage`` names the writer,
    ``rosbag2`` or ``mcap``; empty takes ``default_storage()``.
    Raises BagExistsError, BagWriteError, MissingDependencyError.
    """
    if (storage or default_storage()) == 'rosbag2':
        from recorder.bag.rosbag2_writer import Rosbag2Writer

        writer: BagWriter = Rosbag2Writer(path, custom_data=custom_data)
        return writer
    from recorder.bag.mcap_writer import McapWriter

    return McapWriter(path, custom_data=custom_data)

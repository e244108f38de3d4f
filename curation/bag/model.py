# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a bag is made of, whatever its storage: topics, messages, and what could not be read."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

Buffer: TypeAlias = 'bytes | memoryview'
Ref: TypeAlias = tuple[int, int, int, int]  # file, then what the file's storage finds a message by


class Message(NamedTuple):
    """One message as it was recorded; times in ns.

    ``publish_ns`` is None where the storage has no publish times. ``data`` may be a view into a
    chunk: copy what is kept. ``ref`` reads the same message again, see ``BagReader.read``.
    """

    topic: str
    data: Buffer
    log_ns: int
    publish_ns: int | None
    ref: Ref


@dataclass(frozen=True)
class Topic:
    """One topic: ``count`` is its number of messages, None where only reading would tell."""

    name: str
    type: str
    encoding: str  # of messages, such as cdr
    schema_encoding: str  # ros2msg, ros2idl or empty
    schema: str  # definition text, empty where the bag carries none
    count: int | None


@dataclass(frozen=True)
class Problem:
    """Something that could not be read: ``topics`` are those that lost messages by it.

    The span, ns, is that of the loss where it is known.
    """

    text: str
    topics: tuple[str, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None
    lost: bool = True  # False for a remark that cost no message


class BagFile(Protocol):
    """One storage file of a bag."""

    path: str
    topics: dict[str, Topic]
    custom_data: dict[str, str]
    problems: list[Problem]
    start_ns: int | None
    end_ns: int | None

    def messages(
        self, topics: Collection[str] | None, start_ns: int | None, end_ns: int | None
    ) -> Iterator[Message]:
        """Yield messages in log-time order, those with start_ns <= log time < end_ns."""

    def read(self, ref: Ref) -> Buffer:
        """Return the bytes of one message again."""

    def close(self) -> None:
        """Close the file."""

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A storage file with its custom_data, and rosbag2's own compression undone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import zstandard

from curation.bag.model import BagFile, Buffer, Message, Problem, Ref
from curation.exceptions import BagError


class Decompressed:
    """A storage file whose messages may be compressed one by one (rosbag2's mode ``message``)."""

    def __init__(
        self, file: Any, custom_data: dict[str, str], *, messages: bool, temporary: Any = None
    ) -> None:
        self._file: BagFile = file
        self._messages = messages
        self._temporary = temporary  # a folder that goes when the file is closed
        self.path = self._file.path
        self.topics = self._file.topics
        self.custom_data = custom_data
        self.problems = self._file.problems
        self.start_ns = self._file.start_ns
        self.end_ns = self._file.end_ns

    def messages(
        self, topics: Collection[str] | None, start_ns: int | None, end_ns: int | None
    ) -> Iterator[Message]:
        """Yield messages in log-time order."""
        stream = self._file.messages(topics, start_ns, end_ns)
        return self._decompress_all(stream) if self._messages else stream

    def read(self, ref: Ref) -> Buffer:
        """Return the bytes of one message again."""
        data = self._file.read(ref)
        if not self._messages:
            return data
        try:
            return zstandard.ZstdDecompressor().decompress(data)
        except zstandard.ZstdError as error:
            raise BagError(f"{self.path}: a message can't be decompressed ({error})") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _decompress_all(self, stream: Iterator[Message]) -> Iterator[Message]:
        decompressor = zstandard.ZstdDecompressor()
        for message in stream:
            try:
                yield message._replace(data=decompressor.decompress(message.data))
            except zstandard.ZstdError as error:
                problem = Problem(
                    f"{self.path}: a message of {message.topic} can't be decompressed ({error})",
                    (message.topic,),
                    message.log_ns,
                    message.log_ns,
                )
                if problem not in self.problems:
                    self.problems.append(problem)

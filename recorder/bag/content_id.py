# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The content id of a bag: BLAKE3, whatever its chunks, its compression and its name."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
import struct
import sys
from typing import Any

from teleop_bridge.exceptions import FlywheelError, MissingDependencyError

_TIMES = struct.Struct('<QQQ')
_WORD = 2**64 - 1
_GATHERED_BYTES = 16_384


def has_blake3() -> bool:
    """Tell whether content ids can be computed here."""
    return importlib.util.find_spec('blake3') is not None


def _hasher() -> Any:
    try:
        from blake3 import blake3
    except ImportError as error:
        raise MissingDependencyError(
            'content ids need the library blake3: pip install blake3'
        ) from error
    return blake3()


class _Channel:
    """The hash over one channel's messages in the order (log time, publish time, bytes)."""

    def __init__(self) -> None:
        self._hash = _hasher()
        self._tied: list[tuple[int, bytes]] = []
        self._log_ns: int | None = None
        self._pieces: list[bytes] = []  # of small messages, which cost less together
        self._size = 0

    def add(self, log_ns: int, publish_ns: int, data: bytes) -> None:
        if log_ns != self._log_ns:
            if self._log_ns is not None and log_ns < self._log_ns:
                raise ValueError(
                    f'expected messages in log-time order, found {log_ns} ns '
                    f'after {self._log_ns} ns'
                )
            self._settle()
            self._log_ns = log_ns
        self._tied.append((publish_ns, data))

    def digest(self) -> bytes:
        self._settle()
        self._update()
        return bytes(self._hash.digest())

    def _settle(self) -> None:
        if len(self._tied) > 1:
            self._tied.sort()
        for publish_ns, data in self._tied:
            times = _TIMES.pack((self._log_ns or 0) & _WORD, publish_ns & _WORD, len(data))
            self._pieces += (times, data)
            self._size += len(data)
        self._tied.clear()
        if self._size >= _GATHERED_BYTES:
            self._update()

    def _update(self) -> None:
        pieces = self._pieces if len(self._pieces) <= 2 else [b''.join(self._pieces)]
        for piece in pieces:
            self._hash.update(piece)
        self._pieces, self._size = [], 0


class ContentHash:
    """Hashes messages as they are read, each channel in log-time order, in one pass.

    The id is BLAKE3 over, per (topic, type) in that order, the name, the type (each with its
    length) and the channel's own BLAKE3, which runs over each message's log time, publish time,
    length (little-endian 64 bit) and bytes. Channels without messages and all metadata stay
    outside.
    """

    def __init__(self) -> None:
        self._channels: dict[tuple[str, str], _Channel] = {}

    def add(
        self, topic: str, type_: str, log_ns: int, publish_ns: int | None, data: bytes
    ) -> None:
        """Add a message; a source without publish times gives None, which counts as the log time.

        Raises ValueError where a channel's log times go backwards.
        """
        channel = self._channels.get((topic, type_))
        if channel is None:
            channel = self._channels[topic, type_] = _Channel()
        channel.add(log_ns, log_ns if publish_ns is None else publish_ns, data)

    def hexdigest(self) -> str:
        """Return the id of what was added so far, 64 hexadecimal digits."""
        total = _hasher()
        for names, channel in sorted(self._channels.items()):
            for name in names:
                encoded = name.encode()
                total.update(len(encoded).to_bytes(8, 'little'))
                total.update(encoded)
            total.update(channel.digest())
        return str(total.hexdigest())


def content_id(bag: Path) -> str:
    """Return the content id of an MCAP bag: its folder or its only file.

    Raises BagCorruptError where the bag can't be read to its end.
    """
    from recorder.bag.mcap_reader import bag_file, read_messages

    content = ContentHash()
    for message in read_messages(bag_file(bag)):
        content.add(message.topic, message.type, message.log_ns, message.publish_ns, message.data)
    return content.hexdigest()


def main() -> int:
    """Print the id of the bag named on the command line, at the lowest priority."""
    os.nice(19)
    try:
        print(content_id(Path(sys.argv[1])))
    except FlywheelError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Reads what can still be read of an MCAP file that was cut short or damaged, front to back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
import mmap
from pathlib import Path
import struct
from typing import NamedTuple

from recorder.bag.crc import crc32
from recorder.exceptions import BagCorruptError
from teleop_bridge.exceptions import MissingDependencyError

try:
    from mcap.data_stream import ReadDataStream
    from mcap.opcode import Opcode
    from mcap.records import Channel, Chunk, Metadata, Schema
except ImportError as error:
    raise MissingDependencyError(
        'reading bags needs the library mcap: pip install mcap'
    ) from error

_MAGIC = b'\x89MCAP0\r\n'
_HEAD = struct.Struct('<BQ')
_MESSAGE = struct.Struct('<HIQQ')
_CHUNK = struct.Struct('<QQQII')  # start, end, uncompressed size, crc, length of compression
_OPCODES = {opcode.value for opcode in Opcode}


class ScannedMessage(NamedTuple):
    """One message as it lies in the file; times in ns."""

    channel: int
    sequence: int
    log_ns: int
    publish_ns: int
    data: bytes


@dataclass
class Scan:
    """What an MCAP file held; complete once ``messages`` has been consumed."""

    path: Path
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    metadata: list[Metadata] = field(default_factory=list)
    damaged_chunks: int = 0
    ended: bool = False  # the file has its end record: it was closed
    lost_bytes: int = 0  # after the last record that could be read

    def messages(self) -> Iterator[ScannedMessage]:
        """Yield every whole message in file order; BagCorruptError for what is no MCAP file."""
        try:
            size = self.path.stat().st_size
            with open(self.path, 'rb') as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    raise BagCorruptError(
                        f'{self.path}: expected an MCAP file, found {size} bytes '
                        'that do not begin as one'
                    )
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    yield from self._records(memoryview(data), len(_MAGIC), top=True)
        except OSError as error:
            raise BagCorruptError(f'{self.path}: could not read, {error.strerror}') from error

    def _records(self, data: memoryview, at: int, *, top: bool) -> Iterator[ScannedMessage]:
        with data:
            while at + _HEAD.size <= len(data):
                opcode, length = _HEAD.unpack_from(data, at)
                body, end = at + _HEAD.size, at + _HEAD.size + length
                if opcode not in _OPCODES:
                    break
                if end > len(data):
                    if opcode == Opcode.CHUNK:
                        yield from self._torn_chunk(data, body)
                    break
                if opcode == Opcode.MESSAGE:
                    yield self._message(data, body, end)
                elif opcode == Opcode.CHUNK:
                    yield from self._chunk(bytes(data[body:end]))
                elif opcode == Opcode.DATA_END:
                    self.ended = True
                    at = len(data)
                    break
                else:
                    self._other(opcode, bytes(data[body:end]))
                at = end
            if top:
                self.lost_bytes = len(data) - at

    def _message(self, data: memoryview, body: int, end: int) -> ScannedMessage:
        channel, sequence, log_ns, publish_ns = _MESSAGE.unpack_from(data, body)
        content = bytes(data[body + _MESSAGE.size : end])
        return ScannedMessage(channel, sequence, log_ns, publish_ns, content)

    def _other(self, opcode: int, content: bytes) -> None:
        stream = ReadDataStream(BytesIO(content))
        try:
            if opcode == Opcode.SCHEMA:
                schema = Schema.read(stream)
                self.schemas[schema.id] = schema
            elif opcode == Opcode.CHANNEL:
                channel = Channel.read(stream)
                self.channels[channel.id] = channel
            elif opcode == Opcode.METADATA:
                self.metadata.append(Metadata.read(stream))
        except Exception:  # an altered record: what depends on it is counted as lost
            self.damaged_chunks += 1

    def _chunk(self, content: bytes) -> Iterator[ScannedMessage]:
        try:
            chunk = Chunk.read(ReadDataStream(BytesIO(content)))
            data = _decompress(chunk.compression, chunk.data, chunk.uncompressed_size)
            intact = not chunk.uncompressed_crc or crc32(data) == chunk.uncompressed_crc
        except MissingDependencyError:
            raise
        except Exception:  # altered bytes make the library raise whatever they stumble over
            intact = False
        if not intact:
            self.damaged_chunks += 1
            return
        yield from self._records(memoryview(data), 0, top=False)

    def _torn_chunk(self, data: memoryview, body: int) -> Iterator[ScannedMessage]:
        """Yield the whole messages of an uncompressed chunk whose end is missing."""
        if body + _CHUNK.size > len(data):
            return
        *_, name_length = _CHUNK.unpack_from(data, body)
        if name_length == 0:
            yield from self._records(data[body + _CHUNK.size + 8 :], 0, top=False)


def _decompress(compression: str, data: bytes, size: int) -> bytes:
    if not compression:
        return data
    try:
        if compression == 'zstd':
            import zstandard

            return zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
        import lz4.frame  # type: ignore[import-untyped, unused-ignore]

        return bytes(lz4.frame.decompress(data))
    except ImportError as error:
        library = 'zstandard' if compression == 'zstd' else 'lz4'
        raise MissingDependencyError(
            f'{compression} chunks need the library {library}: pip install {library}'
        ) from error

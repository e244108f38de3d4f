# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""An MCAP file being written: messages gathered by reference into chunks.

The records that occur once per file come from the mcap library; messages and chunks, which carry
the volume, are laid out here without copying a payload.
Format: https://mcap.dev/spec
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import os
from pathlib import Path
import struct

from recorder.bag.crc import crc32
from recorder.bag.files import write_error
from teleop_bridge.exceptions import MissingDependencyError

try:
    from mcap.data_stream import RecordBuilder
    from mcap.opcode import Opcode
    from mcap.records import (
        Channel,
        ChunkIndex,
        DataEnd,
        Footer,
        Header,
        McapRecord,
        Metadata,
        MetadataIndex,
        Schema,
        Statistics,
        SummaryOffset,
    )
except ImportError as error:
    raise MissingDependencyError(
        'writing bags without rosbag2_py needs the library mcap: pip install mcap'
    ) from error

MAGIC = b'\x89MCAP0\r\n'
LIBRARY = 'teleop_flywheel'
_MESSAGE = struct.Struct('<BQHIQQ')  # opcode, length, channel, sequence, log time, publish time
_CHUNK = struct.Struct('<BQQQQI')  # opcode, length, start, end, uncompressed size, crc
_FOOTER = struct.Struct('<BQQQ')  # opcode, length, summary start, summary offset start
_HEAD = 9  # bytes of a record's opcode and length
_MESSAGE_FIELDS = 22  # bytes of a message record's fields before its data
_MESSAGE_RECORD = int(Opcode.MESSAGE)
_SMALL = 4096  # bytes per part below which parts cost less copied together than one by one


class _Chunk:
    """The messages that will become one chunk; payloads are held by reference."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.index: dict[int, list[int]] = {}  # channel -> time, offset, time, offset, …

    def add(self, channel: int, sequence: int, log_ns: int, publish_ns: int, data: bytes) -> None:
        length = _MESSAGE_FIELDS + len(data)
        index = self.index.get(channel)
        if index is None:
            index = self.index[channel] = []
        index += (log_ns, self.size)
        head = _MESSAGE.pack(_MESSAGE_RECORD, length, channel, sequence, log_ns, publish_ns)
        self.parts += (head, data)
        self.size += _HEAD + length

    def content(self) -> list[bytes]:
        """Return what makes up the chunk, many small parts as one."""
        small = self.size < _SMALL * len(self.parts)
        return [b''.join(self.parts)] if small else self.parts

    def span_ns(self) -> tuple[int, int]:
        """Return the first and the last of the messages' log times."""
        times = [entries[::2] for entries in self.index.values()]
        return min(map(min, times)), max(map(max, times))


class Lane:
    """Messages that share chunks: those of one size class, so that small ones are read alone."""

    def __init__(self, *, limit: int, compress: bool = False) -> None:
        """``limit``: bytes after which a chunk is written; ``compress`` uses zstandard."""
        self.limit = limit
        self.compress = compress
        self.chunk = _Chunk()


class McapFile:
    """One MCAP file, profile ros2; schemas, channels and metadata lie outside of the chunks."""

    def __init__(self, path: Path) -> None:
        """Create the file; BagWriteError where the system refuses."""
        self.path = path
        self._offset = 0
        self._lanes: list[Lane] = []
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._chunks: list[ChunkIndex] = []
        self._metadata: list[MetadataIndex] = []
        self._sequences: dict[int, int] = {}  # messages accepted, per channel
        self._counts: dict[int, int] = {}  # messages in the file, per channel
        self.start_ns: int | None = None
        self.end_ns: int | None = None
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except OSError as error:
            raise write_error(path, error) from error
        self._append([MAGIC, _record(Header(profile='ros2', library=LIBRARY))])

    def lane(self, lane: Lane) -> Lane:
        """Register a lane, so that sync and close flush it."""
        self._lanes.append(lane)
        return lane

    def add_schema(self, name: str, text: str) -> int:
        """Write a ros2msg schema and return its id."""
        schema = Schema(
            id=len(self._schemas) + 1, name=name, encoding='ros2msg', data=text.encode()
        )
        self._append([_record(schema)])
        self._schemas.append(schema)
        return schema.id

    def add_channel(self, topic: str, schema_id: int, metadata: dict[str, str]) -> int:
        """Write a CDR channel and return its id."""
        channel = Channel(
            id=len(self._channels) + 1,
            topic=topic,
            message_encoding='cdr',
            schema_id=schema_id,
            metadata=metadata,
        )
        self._append([_record(channel)])
        self._channels.append(channel)
        self._counts[channel.id] = self._sequences[channel.id] = 0
        return channel.id

    def add_metadata(self, name: str, entries: dict[str, str]) -> None:
        """Write a metadata record after everything that was written so far."""
        self.flush()
        record = _record(Metadata(name=name, metadata=entries))
        self._metadata.append(MetadataIndex(offset=self._offset, length=len(record), name=name))
        self._append([record])

    def write(self, lane: Lane, channel: int, log_ns: int, publish_ns: int, data: bytes) -> None:
        """Add a message to a lane's chunk, which is written once it has grown to its limit."""
        lane.chunk.add(channel, self._sequences[channel], log_ns, publish_ns, data)
        self._sequences[channel] += 1
        if lane.chunk.size >= lane.limit:
            self._write_chunk(lane)

    def flush(self) -> None:
        """Write every chunk begun, to the operating system."""
        for lane in self._lanes:
            self._write_chunk(lane)

    def sync(self) -> None:
        """Write every chunk begun and wait until the disk has it."""
        self.flush()
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise write_error(self.path, error) from error

    def count(self, channel: int) -> int:
        """Return the number of messages of one channel that the file has."""
        return self._counts[channel]

    def close(self) -> None:
        """Write summary and footer, wait until the disk has the file and close it."""
        try:
            self.flush()
            self._append([_record(DataEnd(data_section_crc=0))])
            self._append(self._summary())
            os.fsync(self._descriptor)
        except OSError as error:
            raise write_error(self.path, error) from error
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file as it is, without summary: what a killed recorder leaves."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _write_chunk(self, lane: Lane) -> None:
        chunk, lane.chunk = lane.chunk, _Chunk()
        if not chunk.parts:
            return
        start_ns, end_ns = chunk.span_ns()
        parts: Sequence[bytes] = chunk.content()
        crc = 0
        for part in parts:
            crc = crc32(part, crc)
        compression, stored = '', chunk.size
        if lane.compress:
            parts = [_zstd(b''.join(parts))]
            compression, stored = 'zstd', len(parts[0])
        name = compression.encode()
        head = len(name).to_bytes(4, 'little') + name + stored.to_bytes(8, 'little')
        length = _CHUNK.size - _HEAD + len(head) + stored
        start = self._offset
        head = _CHUNK.pack(Opcode.CHUNK, length, start_ns, end_ns, chunk.size, crc) + head
        indexes = {
            channel: _message_index(channel, entries) for channel, entries in chunk.index.items()
        }
        self._append([head, *parts, b''.join(indexes.values())])
        for channel, entries in chunk.index.items():
            self._counts[channel] += len(entries) // 2
        offsets = {}
        at = start + _HEAD + length
        for channel, record in indexes.items():
            offsets[channel] = at
            at += len(record)
        self._chunks.append(
            ChunkIndex(
                message_start_time=start_ns,
                message_end_time=end_ns,
                chunk_start_offset=start,
                chunk_length=_HEAD + length,
                message_index_offsets=offsets,
                message_index_length=at - start - _HEAD - length,
                compression=compression,
                compressed_size=stored,
                uncompressed_size=chunk.size,
            )
        )
        self.start_ns = start_ns if self.start_ns is None else min(self.start_ns, start_ns)
        self.end_ns = max(self.end_ns or 0, end_ns)

    def _summary(self) -> list[bytes]:
        statistics = Statistics(
            message_count=sum(self._counts.values()),
            schema_count=len(self._schemas),
            channel_count=len(self._channels),
            attachment_count=0,
            metadata_count=len(self._metadata),
            chunk_count=len(self._chunks),
            message_start_time=self.start_ns or 0,
            message_end_time=self.end_ns or 0,
            channel_message_counts=dict(self._counts),
        )
        groups: list[tuple[Opcode, Iterable[McapRecord]]] = [
            (Opcode.SCHEMA, self._schemas),
            (Opcode.CHANNEL, self._channels),
            (Opcode.STATISTICS, [statistics]),
            (Opcode.CHUNK_INDEX, self._chunks),
            (Opcode.METADATA_INDEX, self._metadata),
        ]
        start = at = self._offset
        parts, offsets = [], []
        for opcode, records in groups:
            data = b''.join(map(_record, records))
            if data:
                offsets.append(
                    SummaryOffset(group_opcode=opcode, group_start=at, group_length=len(data))
                )
            parts.append(data)
            at += len(data)
        parts += map(_record, offsets)
        crc = crc32(b''.join(parts))
        crc = crc32(_FOOTER.pack(Opcode.FOOTER, 20, start, at), crc)
        footer = Footer(summary_start=start, summary_offset_start=at, summary_crc=crc)
        return [b''.join([*parts, _record(footer), MAGIC])]

    def _append(self, parts: Sequence[bytes]) -> None:
        try:
            for part in parts:
                _write_all(self._descriptor, part)
        except OSError as error:
            os.ftruncate(self._descriptor, self._offset)  # drop the torn record
            os.lseek(self._descriptor, self._offset, os.SEEK_SET)
            raise write_error(self.path, error) from error
        self._offset += sum(map(len, parts))


def _write_all(descriptor: int, part: bytes) -> None:
    # Part by part: one writev of them all copies images into the page cache at a fifth of the
    # speed (Linux 6.18, ext4).
    written = os.write(descriptor, part)
    while written < len(part):  # a disk filling up, or a signal
        written += os.write(descriptor, memoryview(part)[written:])


def _record(record: McapRecord) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    return bytes(builder.end())  # type: ignore[no-untyped-call]


def _message_index(channel: int, entries: list[int]) -> bytes:
    count = len(entries)
    return struct.pack(
        f'<BQHI{count}Q', Opcode.MESSAGE_INDEX, 6 + 8 * count, channel, 8 * count, *entries
    )


def _zstd(data: bytes) -> bytes:
    try:
        import zstandard
    except ImportError as error:
        raise MissingDependencyError(
            "a stream stored as 'chunk' needs the library zstandard: pip install zstandard"
        ) from error
    return zstandard.ZstdCompressor(level=1).compress(data)

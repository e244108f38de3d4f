# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The MCAP records that reading needs, parsed from bytes (format: mcap.dev/spec)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
import struct
import threading

from isal.isal_zlib import crc32  # zlib's costs as much as decompression
import lz4.frame
import zstandard

from curation.bag.model import Buffer

MAGIC = b'\x89MCAP0\r\n'
HEAD = struct.Struct('<BQ')  # opcode, length
MESSAGE_HEAD = struct.Struct('<BQHIQQ')  # opcode, length, channel, sequence, log, publish time
CHUNK_HEAD = struct.Struct('<QQQII')  # start, end, size, CRC, length of compression's name
FOOTER = struct.Struct('<BQQQI')
HEADER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = 1, 3, 4, 5, 6, 7, 8
STATISTICS, METADATA, METADATA_INDEX, DATA_END, FOOTER_RECORD = 0x0B, 0x0C, 0x0D, 0x0F, 2
LAST_OPCODE = 0x0F
_CHUNK_LIMIT = 2**31  # bytes; beyond it a size is taken for altered
_threads = threading.local()


class RecordError(Exception):
    """A record is not what the format allows; callers turn it into a Problem or BagError."""


@dataclass(frozen=True)
class Schema:
    """A schema record."""

    id: int
    name: str
    encoding: str
    text: str


@dataclass(frozen=True)
class Channel:
    """A channel record."""

    id: int
    schema_id: int
    topic: str
    encoding: str


@dataclass(frozen=True)
class Block:
    """A chunk, or a run of records outside of chunks; log times in ns, both inclusive.

    ``offset`` and ``length`` delimit a chunk record's content, or the run itself. ``channels`` is
    None where only reading would tell.
    """

    offset: int
    length: int
    start_ns: int
    end_ns: int
    channels: frozenset[int] | None
    chunked: bool = True


class Cursor:
    """Reads fields one after the other; RecordError past the end."""

    def __init__(self, data: Buffer) -> None:
        self._data = memoryview(data)
        self._at = 0

    def number(self, size: int) -> int:
        """Take an unsigned number of ``size`` bytes."""
        return int.from_bytes(self.take(size), 'little')

    def text(self) -> str:
        """Take a text with its length before it."""
        try:
            return str(self.take(self.number(4)), 'utf-8')
        except UnicodeDecodeError as error:
            raise RecordError('expected UTF-8 text') from error

    def take(self, size: int) -> memoryview:
        """Take ``size`` bytes."""
        end = self._at + size
        if end > len(self._data):
            raise RecordError(f'a field needs {end - len(self._data)} bytes more than there are')
        part = self._data[self._at : end]
        self._at = end
        return part

    def rest(self) -> memoryview:
        """Take what is left."""
        return self.take(len(self._data) - self._at)

    def map(self, key_size: int, value_size: int) -> dict[int, int]:
        """Take a map of numbers, its length in bytes before it."""
        inner = Cursor(self.take(self.number(4)))
        result = {}
        while inner._at < len(inner._data):
            key = inner.number(key_size)
            result[key] = inner.number(value_size)
        return result


def parse_schema(data: Buffer) -> Schema:
    """Parse a schema record."""
    cursor = Cursor(data)
    number, name, encoding = cursor.number(2), cursor.text(), cursor.text()
    text = str(cursor.take(cursor.number(4)), 'utf-8', 'replace')
    return Schema(number, name, encoding, text)


def parse_channel(data: Buffer) -> Channel:
    """Parse a channel record."""
    cursor = Cursor(data)
    return Channel(cursor.number(2), cursor.number(2), cursor.text(), cursor.text())


def parse_metadata(data: Buffer) -> tuple[str, dict[str, str]]:
    """Parse a metadata record: its name and entries."""
    cursor = Cursor(data)
    name = cursor.text()
    inner = Cursor(cursor.take(cursor.number(4)))
    entries = {}
    while inner._at < len(inner._data):
        key = inner.text()
        entries[key] = inner.text()
    return name, entries


def parse_chunk_index(data: Buffer) -> Block:
    """Parse a chunk index record."""
    cursor = Cursor(data)
    start, end, offset, length = (cursor.number(8) for _ in range(4))
    channels = frozenset(cursor.map(2, 8))
    return Block(offset + HEAD.size, length - HEAD.size, start, end, channels or None)


def records(data: Buffer) -> Iterator[tuple[int, int, int]]:
    """Yield (opcode, start, end) of each record's content; RecordError where one is cut."""
    at, size = 0, len(data)
    while at < size:
        if at + HEAD.size > size:
            raise RecordError("cut in a record's head")
        opcode, length = HEAD.unpack_from(data, at)
        at += HEAD.size
        if at + length > size:
            raise RecordError('cut in a record')
        yield opcode, at, at + length
        at += length


def open_chunk(
    data: Buffer, take: Callable[[int], memoryview] = lambda size: memoryview(bytearray(size))
) -> tuple[Buffer, bool]:
    """Return a chunk's records, decompressed, and whether a CRC vouches for them; RecordError.

    ``take`` gives the memory that they are decompressed into.
    """
    if len(data) < CHUNK_HEAD.size:
        raise RecordError("cut in a chunk's head")
    _, _, size, crc, name_length = CHUNK_HEAD.unpack_from(data)
    cursor = Cursor(data)
    cursor.take(CHUNK_HEAD.size - 4)
    compression = cursor.text()
    stored = cursor.take(cursor.number(8))
    if size > _CHUNK_LIMIT:
        raise RecordError(f'a chunk claims {size} bytes')
    opened = _decompress(compression, stored, size, take)
    if len(opened) != size:
        raise RecordError(f'a chunk should have {size} bytes, has {len(opened)}')
    if crc and crc32(opened) != crc:
        raise RecordError("a chunk's CRC does not match its bytes")
    return opened, bool(crc)


def _decompressor() -> zstandard.ZstdDecompressor:
    """Return this thread's: making one costs as much as a small chunk."""
    if not hasattr(_threads, 'decompressor'):
        _threads.decompressor = zstandard.ZstdDecompressor()
    found: zstandard.ZstdDecompressor = _threads.decompressor
    return found


def _decompress(
    compression: str, stored: memoryview, size: int, take: Callable[[int], memoryview]
) -> Buffer:
    try:
        if compression == 'zstd':
            claimed = zstandard.frame_content_size(stored)
            if claimed not in (-1, size):
                raise RecordError(f'a chunk should have {size} bytes, its zstd frame {claimed}')
            decompressor = _decompressor()
            if claimed < 0:
                return decompressor.decompress(stored, max_output_size=size)
            opened = take(size)
            return opened[: decompressor.stream_reader(stored).readinto(opened)]
        if compression == 'lz4':
            return bytes(lz4.frame.decompress(stored))
    except (zstandard.ZstdError, RuntimeError, EOFError, ValueError) as error:
        raise RecordError(f"a chunk can't be decompressed ({error})") from error
    if compression:
        raise RecordError(f"a chunk is compressed by '{compression}' (known: zstd, lz4)")
    return stored

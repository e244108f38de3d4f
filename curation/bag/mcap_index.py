# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Where an MCAP file's messages are: from its summary, or by scanning where there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from isal.isal_zlib import crc32

from curation.bag.mcap_records import (
    Block,
    CHANNEL,
    Channel,
    CHUNK,
    CHUNK_HEAD,
    CHUNK_INDEX,
    Cursor,
    DATA_END,
    FOOTER,
    FOOTER_RECORD,
    HEAD,
    LAST_OPCODE,
    MAGIC,
    MESSAGE,
    MESSAGE_HEAD,
    METADATA,
    METADATA_INDEX,
    open_chunk,
    parse_channel,
    parse_chunk_index,
    parse_metadata,
    parse_schema,
    RecordError,
    records,
    SCHEMA,
    Schema,
    STATISTICS,
)
from curation.bag.model import Buffer, Problem

_RUN_BYTES = 4_000_000  # of unchunked records that are read at once
_WINDOW_BYTES = 1_000_000  # read ahead while scanning
Reader = Callable[[int, int], bytes]  # offset, length -> bytes, fewer at the end of the file


@dataclass
class Index:
    """What is where in a file; ``counts`` is None where no statistics tell."""

    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    counts: Counter[int] | None = None
    metadata: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    checked: bool = True  # CRCs vouch for the blocks, as far as is known

    def add_definition(self, opcode: int, data: Buffer) -> None:
        """Take a schema or channel record; RecordError where it contradicts an earlier one."""
        if opcode == SCHEMA:
            schema = parse_schema(data)
            if self.schemas.setdefault(schema.id, schema) != schema:
                raise RecordError(f'schema {schema.id} is defined twice, differently')
        elif opcode == CHANNEL:
            channel = parse_channel(data)
            if self.channels.setdefault(channel.id, channel) != channel:
                raise RecordError(f'channel {channel.id} is defined twice, differently')


def read_summary(read: Reader, size: int) -> Index | None:
    """Return the index that the file's summary gives; None where there is none that is whole."""
    tail = FOOTER.size + len(MAGIC)
    if size < 2 * len(MAGIC) + FOOTER.size:
        return None
    footer = read(size - tail, tail)
    opcode, length, start, _, crc = FOOTER.unpack_from(footer)
    whole = opcode == FOOTER_RECORD and length == 20 and footer[FOOTER.size :] == MAGIC
    if not whole or not 0 < start <= size - tail:
        return None
    summary = read(start, size - tail - start)
    if crc and crc32(footer[: FOOTER.size - 4], crc32(summary)) != crc:
        return None
    try:
        return _parse_summary(summary, read)
    except RecordError:
        return None


def _parse_summary(summary: bytes, read: Reader) -> Index | None:
    index = Index()
    messages = 0
    for opcode, start, end in records(summary):
        data = memoryview(summary)[start:end]
        if opcode in (SCHEMA, CHANNEL):
            index.add_definition(opcode, data)
        elif opcode == STATISTICS:
            cursor = Cursor(data)
            messages = cursor.number(8)
            cursor.take(2 + 4 * 4 + 8 * 2)
            index.counts = Counter(cursor.map(2, 8))
        elif opcode == CHUNK_INDEX:
            index.blocks.append(parse_chunk_index(data))
        elif opcode == METADATA_INDEX:
            cursor = Cursor(data)
            _read_metadata(index, read, cursor.number(8), cursor.number(8))
    known = set(index.channels)
    if messages and not index.blocks or any((b.channels or set()) - known for b in index.blocks):
        return None  # unchunked, or a summary that does not repeat its channels
    if index.blocks and not index.channels:
        return None
    return index


def _read_metadata(index: Index, read: Reader, offset: int, length: int) -> None:
    data = read(offset, length)
    try:
        if len(data) < HEAD.size or HEAD.unpack_from(data) != (METADATA, length - HEAD.size):
            raise RecordError('expected a metadata record')
        index.metadata.append(parse_metadata(memoryview(data)[HEAD.size :]))
    except RecordError as error:
        index.problems.append(Problem(f'metadata at byte {offset} is unreadable: {error}'))


class _Window:
    """Sequential reading in large pieces."""

    def __init__(self, read: Reader) -> None:
        self._read = read
        self._start = 0
        self._data = b''

    def get(self, offset: int, length: int) -> bytes:
        at = offset - self._start
        if at < 0 or at + length > len(self._data):
            self._start, at = offset, 0
            self._data = self._read(offset, max(length, _WINDOW_BYTES))
        return self._data[at : at + length]


def scan(read: Reader, size: int) -> Index:
    """Build the index by reading the file from its start up to where it is cut or broken."""
    return _Scan(read, size).run()


class _Scan:
    def __init__(self, read: Reader, size: int) -> None:
        self._window = _Window(read)
        self._read = read
        self._size = size
        self._index = Index(counts=Counter())
        self._run_start = -1  # of the run of unchunked records in hand
        self._run: list[tuple[int, int]] = []  # its messages: log time, channel

    def run(self) -> Index:
        at = len(MAGIC)
        opcode = 0
        while at < self._size and opcode not in (DATA_END, FOOTER_RECORD):
            head = self._window.get(at, HEAD.size)
            if len(head) < HEAD.size:
                self._lose(at, "is cut in a record's head")
                break
            opcode, length = HEAD.unpack(head)
            if not 0 < opcode <= LAST_OPCODE and opcode < 0x80:
                self._lose(at, f'has an unknown record ({opcode:#x})')
                break
            end = at + HEAD.size + length
            if end > self._size:
                self._cut(at, opcode)
                break
            self._record(opcode, at, length)
            at = end
        if opcode not in (DATA_END, FOOTER_RECORD) and not self._index.problems:
            self._lose(at, 'ends without its closing record')
        self._end_run(at)
        return self._index

    def _record(self, opcode: int, at: int, length: int) -> None:
        start = at + HEAD.size
        try:
            if opcode == MESSAGE:
                self._message(at, length)
                return
            if opcode == CHUNK:
                self._chunk(start, length)
            elif opcode in (SCHEMA, CHANNEL):
                self._index.add_definition(opcode, self._window.get(start, length))
            elif opcode == METADATA:
                self._index.metadata.append(parse_metadata(self._window.get(start, length)))
        except RecordError as error:
            self._index.problems.append(Problem(f'record at byte {at} is unreadable: {error}'))
        self._end_run(at)

    def _message(self, at: int, length: int) -> None:
        if length < MESSAGE_HEAD.size - HEAD.size:
            raise RecordError('a message is shorter than its head')
        _, _, channel, _, log, _ = MESSAGE_HEAD.unpack(self._window.get(at, MESSAGE_HEAD.size))
        if channel not in self._index.channels:
            raise RecordError(f'a message of channel {channel}, which is not defined')
        self._index.checked = False
        if self._run_start < 0:
            self._run_start = at
        self._run.append((log, channel))
        if at + length - self._run_start > _RUN_BYTES:
            self._end_run(at + HEAD.size + length)

    def _end_run(self, at: int) -> None:
        if self._run:
            times = [log for log, _ in self._run]
            counts = Counter(channel for _, channel in self._run)
            self._add(
                Block(
                    self._run_start,
                    at - self._run_start,
                    min(times),
                    max(times),
                    frozenset(counts),
                    chunked=False,
                ),
                counts,
            )
        self._run, self._run_start = [], -1

    def _add(self, block: Block, counts: Counter[int]) -> None:
        assert self._index.counts is not None
        self._index.blocks.append(block)
        self._index.counts.update(counts)

    def _chunk(self, start: int, length: int) -> None:
        data = self._read(start, length)
        try:
            opened, checked = open_chunk(data)
        except RecordError as error:
            self._lose_chunk(start, data, str(error))
            return
        self._index.checked &= checked
        counts: Counter[int] = Counter()
        first, last = 2**63, 0
        for opcode, begin, end in records(opened):
            if opcode == MESSAGE:
                _, _, channel, _, log, _ = MESSAGE_HEAD.unpack_from(opened, begin - HEAD.size)
                counts[channel] += 1
                first, last = min(first, log), max(last, log)
            else:
                self._index.add_definition(opcode, memoryview(opened)[begin:end])
        if counts:
            self._add(Block(start, length, first, last, frozenset(counts)), counts)

    def _lose(self, at: int, what: str) -> None:
        self._index.problems.append(
            Problem(f'{what} at byte {at}; {self._size - at} bytes after it are lost')
        )

    def _lose_chunk(self, at: int, data: bytes, what: str) -> None:
        start = end = None
        if len(data) >= CHUNK_HEAD.size:
            start, end, *_ = CHUNK_HEAD.unpack_from(data)
        self._index.problems.append(
            Problem(f'chunk at byte {at} is lost: {what}', start_ns=start, end_ns=end)
        )

    def _cut(self, at: int, opcode: int) -> None:
        if opcode == CHUNK:
            self._lose_chunk(
                at, self._read(at + HEAD.size, CHUNK_HEAD.size), 'the file is cut in it'
            )
        else:
            self._lose(at, 'is cut in a record')

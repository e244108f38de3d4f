# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""One MCAP file: any chunking and compression, with or without summary, whole or cut."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator
import heapq
import os
import threading

from curation.bag.buffers import Buffers
from curation.bag.mcap_index import Index, read_summary, scan
from curation.bag.mcap_records import (
    Block,
    CHANNEL,
    HEAD,
    MAGIC,
    MESSAGE,
    MESSAGE_HEAD,
    open_chunk,
    RecordError,
    SCHEMA,
)
from curation.bag.model import Buffer, Message, Problem, Ref, Topic
from curation.exceptions import BagError

_CACHED_BLOCKS = 3
_Entry = tuple[int, int, int, int, int]  # log time, publish time, channel, start, end


class McapFile:
    """Reads one MCAP file; a damaged chunk is left out and named in ``problems``.

    Raises BagError where the file is no MCAP file.
    """

    def __init__(self, path: str, number: int = 0) -> None:
        self.path = path
        self._number = number
        self.problems: list[Problem] = []
        self._cache: OrderedDict[int, Buffer] = OrderedDict()
        self._buffers, self._reading = Buffers(), threading.Lock()
        self._descriptor = os.open(path, os.O_RDONLY)
        try:
            self._size = os.fstat(self._descriptor).st_size
            self._index = self._read_index()
        except BaseException:
            self.close()
            raise
        self._blocks = sorted(self._index.blocks, key=lambda block: (block.start_ns, block.offset))
        self.start_ns = min((block.start_ns for block in self._blocks), default=None)
        self.end_ns = max((block.end_ns for block in self._blocks), default=None)
        self._topic_of: dict[int, str] = {}
        self.topics = self._topics()
        self.metadata = self._index.metadata
        for problem in self._index.problems:
            self._note(problem)
        if not self._index.checked and self._blocks:
            self._note(
                Problem(
                    "has messages without CRC: altered bytes in them can't be seen", lost=False
                )
            )

    def messages(
        self,
        topics: Collection[str] | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Iterator[Message]:
        """Yield messages in log-time order, those with start_ns <= log time < end_ns.

        Only blocks that hold wanted topics and times are read; as many are in memory as overlap.
        """
        low = -1 if start_ns is None else start_ns
        high = 2**64 if end_ns is None else end_ns
        wanted = {
            channel: topic
            for channel, topic in self._topic_of.items()
            if topics is None or topic in topics
        }
        todo = [
            number
            for number, block in enumerate(self._blocks)
            if block.start_ns < high
            and block.end_ns >= low
            and (block.channels is None or not block.channels.isdisjoint(wanted))
        ]
        heap: list[tuple[int, int, int, list[_Entry], memoryview]] = []
        for k, number in enumerate(todo):
            data = self._open(number, keep=False)
            if data is not None:
                entries = self._entries(data, number, wanted, low, high)
                if entries:
                    heapq.heappush(heap, (entries[0][0], number, 0, entries, memoryview(data)))
            until = self._blocks[todo[k + 1]].start_ns if k + 1 < len(todo) else 2**64
            while heap and heap[0][0] < until:
                yield from self._drain(heap, until, wanted)

    def read(self, ref: Ref) -> Buffer:
        """Return the bytes of one message again; BagError where its block is lost."""
        _, number, start, end = ref
        data = self._open(number, keep=True)
        if data is None:
            raise BagError(f"{self.path}: a message can't be read: {self.problems[-1].text}")
        return memoryview(data)[start:end]

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _pread(self, offset: int, length: int) -> bytes:
        if offset < 0 or offset > self._size:
            return b''
        return os.pread(self._descriptor, min(length, self._size - offset), offset)

    def _read_index(self) -> Index:
        if self._size == 0:
            raise BagError(f'{self.path}: expected an MCAP file, found 0 bytes')
        magic = self._pread(0, len(MAGIC))
        if magic != MAGIC:
            raise BagError(f'{self.path}: expected an MCAP file, found one that begins {magic!r}')
        index = read_summary(self._pread, self._size)
        if index is None:
            index = scan(self._pread, self._size)
            index.problems.append(Problem('has no usable summary: it was scanned', lost=False))
        return index

    def _topics(self) -> dict[str, Topic]:
        topics: dict[str, Topic] = {}
        counts = self._index.counts
        for channel in self._index.channels.values():
            schema = self._index.schemas.get(channel.schema_id)
            count = None if counts is None else counts[channel.id]
            topic = Topic(
                channel.topic,
                schema.name if schema else '',
                channel.encoding,
                schema.encoding if schema else '',
                schema.text if schema else '',
                count,
            )
            known = topics.setdefault(channel.topic, topic)
            if known is not topic:
                if (known.type, known.schema) != (topic.type, topic.schema):
                    self._note(
                        Problem(
                            f'{topic.name} is recorded as {known.type} and, differently, '
                            f'as {topic.type}: the latter is lost',
                            (topic.name,),
                        )
                    )
                    continue
                total = None if known.count is None or count is None else known.count + count
                topics[channel.topic] = Topic(
                    *(known.name, known.type, known.encoding, known.schema_encoding, known.schema),
                    total,
                )
            self._topic_of[channel.id] = channel.topic
        return topics

    def _note(self, problem: Problem) -> None:
        problem = Problem(
            f'{self.path}: {problem.text}',
            problem.topics,
            problem.start_ns,
            problem.end_ns,
            problem.lost,
        )
        if problem not in self.problems:
            self.problems.append(problem)

    def _open(self, number: int, *, keep: bool) -> Buffer | None:
        """Return a block's records; None, and a problem noted, where it is damaged."""
        if number in self._cache:
            self._cache.move_to_end(number)
            return self._cache[number]
        block = self._blocks[number]
        try:
            if not block.chunked:
                data: Buffer = self._pread(block.offset, block.length)
                if len(data) < block.length:
                    raise RecordError('the file is cut in it')
            else:
                data, checked = self._read_chunk(block)
                if not checked:
                    self._note(
                        Problem(
                            "has messages without CRC: altered bytes in them can't be seen",
                            lost=False,
                        )
                    )
        except RecordError as error:
            self._lose(block, error)
            return None
        if keep:
            self._cache[number] = data
            if len(self._cache) > _CACHED_BLOCKS:
                self._cache.popitem(last=False)
        return data

    def _read_chunk(self, block: Block) -> tuple[Buffer, bool]:
        """Return a chunk's records, in memory that is used again once nothing looks at it."""
        if not self._reading.acquire(blocking=False):  # another thread has the buffers
            return open_chunk(self._pread(block.offset, block.length))
        try:
            view = self._buffers.take(min(block.length, self._size))
            if os.preadv(self._descriptor, [view], block.offset) < block.length:
                raise RecordError('the file is cut in it')
            return open_chunk(view, self._buffers.take)
        finally:
            self._reading.release()

    def _lose(self, block: Block, error: RecordError) -> None:
        topics = tuple(
            sorted(
                {
                    self._topic_of[channel]
                    for channel in block.channels or ()
                    if channel in self._topic_of
                }
            )
        )
        self._note(
            Problem(
                f'chunk at byte {block.offset - HEAD.size} is lost: {error}',
                topics,
                block.start_ns,
                block.end_ns,
            )
        )

    def _entries(
        self, data: Buffer, number: int, wanted: dict[int, str], low: int, high: int
    ) -> list[_Entry]:
        """Return a block's wanted messages in log-time order."""
        found: list[_Entry] = []
        at, size = 0, len(data)
        head, head_size, unpack = HEAD.unpack_from, HEAD.size, MESSAGE_HEAD.unpack_from
        try:
            while at < size:
                opcode, length = head(data, at)
                end = at + head_size + length
                if end > size:
                    raise RecordError('a record in it is cut')
                if opcode == MESSAGE:
                    _, _, channel, _, log, publish = unpack(data, at)
                    if channel in wanted and low <= log < high:
                        found.append((log, publish, channel, at + MESSAGE_HEAD.size, end))
                elif opcode in (SCHEMA, CHANNEL):
                    self._index.add_definition(opcode, memoryview(data)[at + head_size : end])
                at = end
        except (RecordError, ValueError, IndexError) as error:
            self._lose(self._blocks[number], RecordError(str(error)))
            return []
        except Exception as error:  # struct.error of a head that is cut
            self._lose(self._blocks[number], RecordError(f'a record in it is cut ({error})'))
            return []
        if any(a[0] > b[0] for a, b in zip(found, found[1:], strict=False)):
            found.sort(key=lambda entry: entry[0])
        return found

    def _drain(
        self,
        heap: list[tuple[int, int, int, list[_Entry], memoryview]],
        until: int,
        wanted: dict[int, str],
    ) -> Iterator[Message]:
        """Yield from the block with the earliest message while it stays the earliest."""
        _, number, at, entries, data = heapq.heappop(heap)
        limit = min(until, heap[0][0] + (number < heap[0][1])) if heap else until
        file = self._number
        while at < len(entries):
            log, publish, channel, start, end = entries[at]
            if log >= limit:
                heapq.heappush(heap, (log, number, at, entries, data))
                return
            yield Message(
                wanted[channel], data[start:end], log, publish, (file, number, start, end)
            )
            at += 1

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A writer thread behind a bounded queue: a stalled disk delays nobody."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
import threading
import time
from typing import NamedTuple

from recorder.bag.content_id import ContentHash, has_blake3
from recorder.bag.topic import TopicInfo
from recorder.bag.writer import Arrival, BagWriter
from recorder.exceptions import RecorderError, TopicError
from teleop_bridge.exceptions import FlywheelError

SYNC_NS = 500_000_000  # between two syncs: half of the second that may be at risk
QUEUE_BYTES = 512 * 1024 * 1024  # 4 s of four raw cameras


_GATHER_S = 0.1  # between two wake-ups of the thread


class _Batch(NamedTuple):
    topic: str
    type: str
    arrivals: Sequence[Arrival]
    size: int  # bytes


class BackgroundWriter:
    """A BagWriter that hands everything to another one in a thread of its own.

    While the disk keeps up, what was written more than ``sync_ns`` plus one sync ago is on it.
    What does not fit into the queue, or comes after the disk refused, is counted in ``lost``.
    """

    def __init__(
        self,
        writer: BagWriter,
        *,
        queue_bytes: int = QUEUE_BYTES,
        sync_ns: int = SYNC_NS,
        hash_content: bool = True,
        wait: bool = False,
    ) -> None:
        """Start the thread; ``hash_content``, where blake3 is, takes the id as messages pass.

        With ``wait`` a full queue makes write wait instead of losing the message.
        """
        self.path = writer.path
        self.lost: dict[str, int] = {}
        self.lost_spans: dict[str, tuple[int, int]] = {}  # between which log times, ns
        self.messages = 0
        self.error: FlywheelError | None = None
        self.synced_ns = time.monotonic_ns()  # what came before is on the disk
        self._writer = writer  # only the thread touches it, until it is joined
        self._limit = queue_bytes
        self._sync_ns = sync_ns
        self._wait = wait
        self._hash = ContentHash() if hash_content and has_blake3() else None
        self._types: dict[str, str] = {}
        self._queued: dict[str, int] = {}  # messages ever queued, per topic
        self._unsynced: dict[str, tuple[int, int]] = {}  # their log times since the last sync
        self._queue: deque[_Batch | TopicInfo] = deque()
        self._queued_bytes = 0
        self._changed = threading.Condition()
        self._syncs_wanted = 0
        self._syncs_done = 0
        self._closing = False
        self._thread = threading.Thread(target=self._run, name='bag writer', daemon=True)
        self._thread.start()

    @property
    def queued_bytes(self) -> int:
        """Return the bytes that wait for the disk: the back-pressure."""
        return self._queued_bytes

    def add_topic(self, topic: TopicInfo) -> None:
        """Declare a topic; TopicError where the name is there already with another type."""
        known = self._types.get(topic.name)
        if known is not None and known != topic.type:
            raise TopicError(
                f'{self.path}: topic {topic.name} is {known} in this bag, found it as {topic.type}'
            )
        with self._changed:
            self._types[topic.name] = topic.type
            self._queue.append(topic)

    def write(self, topic: str, data: bytes, log_time_ns: int, publish_time_ns: int) -> None:
        """Queue one message, or count it as lost; does not wait for the disk unless told to."""
        self.write_batch(topic, [(data, log_time_ns, publish_time_ns, None)])

    def write_batch(self, topic: str, arrivals: Sequence[Arrival]) -> None:
        """Queue messages of one topic, as ``write`` does each."""
        with self._changed:
            self._admit(topic, arrivals)

    def sync(self) -> None:
        """Wait until everything queued is on the disk; raises what the thread met."""
        with self._changed:
            self._syncs_wanted += 1
            wanted = self._syncs_wanted
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._syncs_done >= wanted or self.error is not None)
        if self.error is not None:
            raise self.error

    def counts(self) -> Mapping[str, int]:
        """Return the messages per topic that the file has; final after ``drain``."""
        return self._writer.counts()

    def drain(self) -> None:
        """Write what is queued and end the thread, so that ``lost`` is final."""
        if not self._thread.is_alive():
            return
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        in_file = self._writer.counts()
        for topic, queued in self._queued.items():
            refused = queued - in_file.get(topic, 0)
            if refused:
                self._lose(topic, refused, *self._unsynced[topic])

    def close(self, custom_data: Mapping[str, str] | None = None) -> None:
        """Write what is queued and finish the bag, also after the disk refused a part of it."""
        self.drain()
        self._writer.close(custom_data)

    def content_id(self) -> str:
        """Return the id of what was handed to the file; empty where it was not computed."""
        if self._hash is None or self.error is not None:
            return ''
        return self._hash.hexdigest()

    def _admit(self, topic: str, arrivals: Sequence[Arrival]) -> None:
        size = sum([len(data) for data, *_ in arrivals])
        if len(arrivals) > 1 and self._queued_bytes + size > self._limit:
            for arrival in arrivals:  # as many as fit
                self._admit(topic, [arrival])
            return
        while self._wait and self._is_full(size):
            self._changed.wait(_GATHER_S)
        if self.error is not None or self._is_full(size):
            self._lose(topic, len(arrivals), arrivals[0][1], arrivals[-1][1])
            return
        self._queue.append(_Batch(topic, self._types[topic], arrivals, size))
        self._queued_bytes += size
        self._queued[topic] = self._queued.get(topic, 0) + len(arrivals)

    def _is_full(self, size: int) -> bool:
        over = self._queued_bytes + size > self._limit
        return over and bool(self._queued_bytes) and self.error is None

    def _lose(self, topic: str, count: int, first_ns: int, last_ns: int) -> None:
        self.lost[topic] = self.lost.get(topic, 0) + count
        first, last = self.lost_spans.get(topic, (first_ns, last_ns))
        self.lost_spans[topic] = (min(first, first_ns), max(last, last_ns))

    def _run(self) -> None:
        next_sync = time.monotonic_ns() + self._sync_ns
        while True:
            with self._changed:
                wanted = self._syncs_wanted
                if not self._closing and wanted == self._syncs_done:
                    self._changed.wait(_GATHER_S)  # one wake-up for many messages
                items, self._queue = self._queue, deque()
                closing, wanted = self._closing, self._syncs_wanted
            for item in items:
                self._write(item)
            if closing or wanted > self._syncs_done or time.monotonic_ns() >= next_sync:
                self._sync(wanted)
                next_sync = time.monotonic_ns() + self._sync_ns
            if closing:
                return

    def _write(self, item: _Batch | TopicInfo) -> None:
        if isinstance(item, TopicInfo):
            self._try(lambda: self._writer.add_topic(item))
            return
        first_ns, last_ns = item.arrivals[0][1], item.arrivals[-1][1]
        self._unsynced[item.topic] = (self._unsynced.get(item.topic, (first_ns,))[0], last_ns)
        self._try(lambda: self._hand_over(item))
        with self._changed:
            self._queued_bytes -= item.size

    def _hand_over(self, batch: _Batch) -> None:
        topic, type_, arrivals, _ = batch
        for data, log_ns, publish_ns, _ in arrivals:
            self._writer.write(topic, data, log_ns, publish_ns)
            if self._hash is not None:
                self._hash.add(topic, type_, log_ns, publish_ns, data)
        self.messages += len(arrivals)

    def _sync(self, wanted: int) -> None:
        started_ns = time.monotonic_ns()
        self._try(self._writer.sync)
        with self._changed:
            if self.error is None:
                self.synced_ns = started_ns
                self._unsynced.clear()
                self._syncs_done = wanted
            self._changed.notify_all()

    def _try(self, work: Callable[[], None]) -> None:
        """Do something with the inner writer unless the disk has refused before."""
        if self.error is None:
            try:
                work()
            except RecorderError as error:
                self.error = error

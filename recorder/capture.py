# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Where arriving bytes go: statistics always, memory of the last seconds, and the bag in hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
import threading
from typing import NamedTuple

from recorder.bag.background import BackgroundWriter
from recorder.bag.stamps import has_header, header_stamp_ns
from recorder.bag.topic import TopicInfo
from recorder.health import StreamHealth, StreamReport


class Arrival(NamedTuple):
    """One message as it came; times in ns of the session's clock (publish: of its publisher's)."""

    topic: str
    data: bytes
    log_ns: int
    publish_ns: int


class _Topic:
    def __init__(self, info: TopicInfo, expected_hz: float | None) -> None:
        self.info = info
        self.stamped = has_header(info.schema_text)
        self.health = StreamHealth(info.name, expected_hz)
        self.episode: StreamHealth | None = None  # statistics of the bag in hand
        self.latched: deque[Arrival] = deque(maxlen=1)
        self.last_ns = 0
        self.publishers = 1


class Capture:
    """Takes every message once; a bag is begun and finished between two messages, never within.

    ``preroll_ns``: how much of the past a bag begins with.
    """

    def __init__(self, *, preroll_ns: int = 0, preroll_bytes: int = 256 * 1024 * 1024) -> None:
        """Keep at most ``preroll_bytes`` of the last ``preroll_ns``."""
        self._preroll_ns = preroll_ns
        self._preroll_bytes = preroll_bytes
        self._past: deque[Arrival] = deque()
        self._past_bytes = 0
        self._topics: dict[str, _Topic] = {}
        self._writer: BackgroundWriter | None = None
        self._start_ns = 0  # of the bag in hand
        self._lock = threading.Lock()

    def add_topic(
        self, info: TopicInfo, *, expected_hz: float | None = None, publishers: int = 1
    ) -> None:
        """Declare a topic, at any time; it joins the bag in hand.

        A latched topic keeps the last message of each of its ``publishers``.
        Raises TopicError where the bag in hand has it with another type: what arrives of the new
        type must wait for the next bag.
        """
        with self._lock:
            if self._writer is not None:
                self._writer.add_topic(info)
            known = self._topics.get(info.name)
            if known is None or known.info.type != info.type:
                known = self._topics[info.name] = _Topic(info, expected_hz)
                self._past = deque(m for m in self._past if m.topic != info.name)
                self._past_bytes = sum(len(m.data) for m in self._past)
            known.info = info
            known.publishers = publishers
            known.latched = deque(known.latched, maxlen=max(publishers, 1))
            if self._writer is not None and known.episode is None:
                known.episode = StreamHealth(info.name, expected_hz, start_ns=self._start_ns)

    def arrived(
        self, topic: str, data: bytes, log_ns: int, publish_ns: int, sequence: int | None = None
    ) -> None:
        """Take one message of a declared topic."""
        with self._lock:
            entry = self._topics[topic]
            log_ns = entry.last_ns = max(log_ns, entry.last_ns)
            stamp = header_stamp_ns(data) if entry.stamped else None
            if entry.publishers > 1:
                sequence = None  # each publisher has its own, and the middleware tells not whose
            entry.health.received(log_ns, stamp, sequence, len(data))
            message = Arrival(topic, data, log_ns, publish_ns)
            if entry.info.latched:
                entry.latched.append(message)
            if self._writer is not None:
                if entry.episode is not None:
                    entry.episode.received(log_ns, stamp, sequence)
                self._writer.write(topic, data, log_ns, publish_ns)
            elif self._preroll_ns and not entry.info.latched:
                self._remember(message)

    def publisher_changed(self, topic: str) -> None:
        """Note that a topic's publishers changed, so that sequence numbers begin anew."""
        with self._lock:
            entry = self._topics.get(topic)
            if entry is not None:
                entry.health.restarted()
                if entry.episode is not None:
                    entry.episode.restarted()

    def begin(self, writer: BackgroundWriter, now_ns: int) -> int:
        """Begin a bag: its topics, latched messages, pre-roll; return its start time, ns."""
        with self._lock:
            start_ns = now_ns
            self._forget(now_ns - self._preroll_ns)
            if self._past:
                start_ns = min(self._past[0].log_ns, now_ns)
            for entry in self._topics.values():
                writer.add_topic(entry.info)
                entry.episode = StreamHealth(
                    entry.info.name, entry.health.expected_hz, start_ns=start_ns
                )
            for entry in self._topics.values():
                held = [message._replace(log_ns=start_ns) for message in entry.latched]
                self._write_past(writer, held)
            self._write_past(writer, self._past)
            self._past.clear()
            self._past_bytes = 0
            self._writer = writer
            self._start_ns = start_ns
            return start_ns

    def finish(self, now_ns: int) -> list[StreamReport]:
        """End the bag in hand without closing it; return its statistics per stream."""
        with self._lock:
            self._writer = None
            reports = []
            for entry in self._topics.values():
                if entry.episode is not None:
                    reports.append(entry.episode.report(now_ns))
                    entry.episode = None
            return reports

    def reports(self, now_ns: int) -> list[StreamReport]:
        """Return every topic's statistics since it was first declared."""
        with self._lock:
            return [entry.health.report(now_ns) for entry in self._topics.values()]

    def _write_past(self, writer: BackgroundWriter, past: Iterable[Arrival]) -> None:
        for message in past:
            entry = self._topics[message.topic]
            stamp = header_stamp_ns(message.data) if entry.stamped else None
            if entry.episode is not None:
                entry.episode.received(message.log_ns, stamp)
            writer.write(*message)

    def _remember(self, message: Arrival) -> None:
        self._past.append(message)
        self._past_bytes += len(message.data)
        self._forget(message.log_ns - self._preroll_ns)
        while self._past_bytes > self._preroll_bytes:
            self._drop_oldest()

    def _forget(self, before_ns: int) -> None:
        while self._past and self._past[0].log_ns < before_ns:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        self._past_bytes -= len(self._past.popleft().data)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Where arriving bytes go: statistics always, memory of the last seconds, and the bag in hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, repeat
from operator import attrgetter
import threading
from typing import NamedTuple

from recorder.bag.background import BackgroundWriter
from recorder.bag.stamps import has_header, header_stamp_ns
from recorder.bag.topic import TopicInfo
from recorder.bag.writer import Arrival
from recorder.health import StreamHealth, StreamReport


class _Held(NamedTuple):
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
        self.latched: deque[_Held] = deque(maxlen=1)
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
        self._past: deque[_Held] = deque()
        self._past_bytes = 0
        self._topics: dict[str, _Topic] = {}
        self._writer: BackgroundWriter | None = None
        self._start_ns = 0  # of the bag in hand
        self._lock = threading.Lock()
        self.catch_up: Callable[[], None] = lambda: None
        """Has everything that came until now arrive; called before a bag begins and ends."""

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
        self.arrived_batch(topic, [(data, log_ns, publish_ns, sequence)])

    def arrived_batch(self, topic: str, arrivals: Sequence[Arrival]) -> None:
        """Take messages of a declared topic, at least one, in the order in which they came."""
        with self._lock:
            entry = self._topics[topic]
            data, log_ns, publish_ns, sequences = zip(*arrivals, strict=True)
            rising = tuple(accumulate(log_ns, max, initial=entry.last_ns))[1:]
            entry.last_ns = rising[-1]
            if rising != log_ns:
                log_ns = rising
                arrivals = list(zip(data, log_ns, publish_ns, sequences, strict=True))
            stamps = _stamps(data) if entry.stamped else ()
            if entry.publishers > 1:
                sequences = ()  # each publisher has its own, and the middleware tells not whose
            size = sum(map(len, data))
            entry.health.received_batch(log_ns, stamps, sequences, size)
            if entry.info.latched:
                entry.latched.extend(map(_Held, repeat(topic), data, log_ns, publish_ns))
            if self._writer is not None:
                if entry.episode is not None:
                    entry.episode.received_batch(log_ns, stamps, sequences, size)
                self._writer.write_batch(topic, arrivals)
            elif self._preroll_ns and not entry.info.latched:
                self._remember(map(_Held, repeat(topic), data, log_ns, publish_ns))

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
        self.catch_up()
        with self._lock:
            since_ns = now_ns - self._preroll_ns
            past = sorted(
                (held for held in self._past if held.log_ns >= since_ns), key=attrgetter('log_ns')
            )
            start_ns = min(past[0].log_ns, now_ns) if past else now_ns
            for entry in self._topics.values():
                writer.add_topic(entry.info)
                entry.episode = StreamHealth(
                    entry.info.name, entry.health.expected_hz, start_ns=start_ns
                )
            for entry in self._topics.values():
                held = [message._replace(log_ns=start_ns) for message in entry.latched]
                self._write_past(writer, held)
                if held:
                    entry.last_ns = max(entry.last_ns, start_ns)
            self._write_past(writer, past)
            self._past.clear()
            self._past_bytes = 0
            self._writer = writer
            self._start_ns = start_ns
            return start_ns

    def finish(self, now_ns: int) -> list[StreamReport]:
        """End the bag in hand without closing it; return its statistics per stream."""
        self.catch_up()
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

    def _write_past(self, writer: BackgroundWriter, past: Iterable[_Held]) -> None:
        for message in past:
            entry = self._topics[message.topic]
            stamp = header_stamp_ns(message.data) if entry.stamped else None
            if entry.episode is not None:
                entry.episode.received(message.log_ns, stamp)
            writer.write(*message)

    def _remember(self, arrivals: Iterable[_Held]) -> None:
        for held in arrivals:
            self._past.append(held)
            self._past_bytes += len(held.data)
        since_ns = self._past[-1].log_ns - self._preroll_ns
        while self._past_bytes > self._preroll_bytes or self._past[0].log_ns < since_ns:
            self._past_bytes -= len(self._past.popleft().data)


def _stamps(data: Sequence[bytes]) -> Sequence[int]:
    """Return the header stamp of each message; none where one of them is cut."""
    stamps = [stamp for stamp in map(header_stamp_ns, data) if stamp is not None]
    return stamps if len(stamps) == len(data) else ()

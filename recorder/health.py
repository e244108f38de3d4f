# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Statistics of one stream as it arrives: rate against expectation, age, gaps, losses, stamps."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
import math
from operator import mul, sub

from teleop_bridge.clock import NANOSECONDS

GAP_PERIODS = 2.5  # an interval of more expected periods than this is a gap
RATE_WINDOW_NS = 2 * NANOSECONDS
FROZEN_REPEATS = 10  # messages in a row with one header stamp
_EDGES_NS = [round(10 ** (4 + i / 20)) for i in range(1, 142)]
"""Upper edges of the latency histogram's buckets: 20 per decade, from 10 us to 100 s."""


class LatencyHistogram:
    """Latencies in logarithmic buckets: percentiles within 12 % in constant memory."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_EDGES_NS) + 1)
        self._total = 0

    def add(self, latencies_ns: Iterable[int]) -> None:
        """Count latencies; what lies outside of the range goes to its ends."""
        for latency_ns in latencies_ns:
            self._counts[bisect_right(_EDGES_NS, latency_ns)] += 1
            self._total += 1

    def percentile_ns(self, percent: float) -> int | None:
        """Return the upper edge of the bucket that holds the percentile; None without data."""
        if not self._total:
            return None
        need = math.ceil(self._total * percent / 100)
        for bucket, count in enumerate(self._counts):
            need -= count
            if need <= 0:
                return _EDGES_NS[min(bucket, len(_EDGES_NS) - 1)]
        return None


@dataclass(frozen=True)
class StreamReport:
    """What a stream has delivered since its statistics began; times in ns, None where unknown."""

    topic: str
    received: int
    expected: int | None
    rate_hz: float  # over the last two seconds
    expected_hz: float | None
    age_ns: int | None  # since the last message, at the time of the report
    lost: int  # by the publisher's sequence numbers: sent but never arrived
    unwritten: int  # arrived but not written: the disk was slow or full
    gaps: int
    largest_gap_ns: int
    jitter_ns: int  # standard deviation of the receive intervals
    out_of_order: int  # header stamp before its predecessor's
    duplicates: int  # header stamp equal to its predecessor's
    zero_stamps: int
    frozen: bool  # header stamps no longer move
    latency_p50_ns: int | None  # from header stamp to reception
    latency_p99_ns: int | None
    stamp_offset_ns: int | None = None  # reception minus header stamp of the last message
    bytes_per_s: float = 0.0
    unwritten_span_ns: tuple[int, int] | None = None  # log times between which that was

    def with_unwritten(self, count: int, span_ns: tuple[int, int] | None) -> StreamReport:
        """Return the same report with what was never written: how much, and between when."""
        return replace(self, unwritten=count, unwritten_span_ns=span_ns)


@dataclass
class StreamHealth:
    """Follows one stream, message by message or by batches, in order of arrival."""

    topic: str
    expected_hz: float | None = None
    start_ns: int | None = None  # of the span in which messages are expected

    count: int = 0
    lost: int = 0
    gaps: int = 0
    largest_gap_ns: int = 0
    out_of_order: int = 0
    duplicates: int = 0
    zero_stamps: int = 0
    _first_ns: int | None = None
    _last_ns: int | None = None
    _last_stamp_ns: int | None = None
    _offset_ns: int | None = None
    _last_sequence: int | None = None
    _repeats: int = 0
    _squares: int = 0  # of the receive intervals, ns², exact
    _recent: deque[tuple[int, int, int]] = field(default_factory=deque)  # last ns, count, bytes
    _latency: LatencyHistogram = field(default_factory=LatencyHistogram)

    def received(
        self,
        receive_ns: int,
        stamp_ns: int | None = None,
        sequence: int | None = None,
        size: int = 0,
    ) -> None:
        """Count one message: reception and stamp in ns, publisher's sequence number, bytes."""
        stamps = () if stamp_ns is None else (stamp_ns,)
        self.received_batch((receive_ns,), stamps, (sequence,), size)

    def received_batch(
        self,
        receive_ns: Sequence[int],
        stamps_ns: Sequence[int],
        sequences: Sequence[int | None],
        size: int,
    ) -> None:
        """Count messages as ``received`` does; ``stamps_ns`` is empty or has one for each."""
        self.count += len(receive_ns)
        self._recent.append((receive_ns[-1], len(receive_ns), size))
        self._forget(receive_ns[-1])
        self._intervals(receive_ns)
        if stamps_ns:
            self._stamps(stamps_ns, receive_ns)
        for sequence in sequences:
            if sequence is not None:
                if self._last_sequence is not None and sequence > self._last_sequence:
                    self.lost += sequence - self._last_sequence - 1
                self._last_sequence = sequence

    def restarted(self) -> None:
        """Forget the publisher's sequence numbers: another publisher has taken over."""
        self._last_sequence = None

    def report(self, now_ns: int) -> StreamReport:
        """Return the statistics as of ``now_ns``."""
        self._forget(now_ns)
        age = None if self._last_ns is None else max(now_ns - self._last_ns, 0)
        expected = None
        if self.expected_hz is not None and self.start_ns is not None:
            expected = max(int((now_ns - self.start_ns) * self.expected_hz / NANOSECONDS), 0)
        largest = self.largest_gap_ns
        since = self._last_ns if self._last_ns is not None else self.start_ns
        if since is not None:
            largest = max(largest, now_ns - since)
        return StreamReport(
            topic=self.topic,
            received=self.count,
            expected=expected,
            rate_hz=self._rate(),
            expected_hz=self.expected_hz,
            age_ns=age,
            lost=self.lost,
            unwritten=0,
            gaps=self.gaps,
            largest_gap_ns=largest,
            jitter_ns=self._jitter_ns(),
            out_of_order=self.out_of_order,
            duplicates=self.duplicates,
            zero_stamps=self.zero_stamps,
            frozen=self._repeats >= FROZEN_REPEATS,
            latency_p50_ns=self._latency.percentile_ns(50),
            latency_p99_ns=self._latency.percentile_ns(99),
            stamp_offset_ns=self._offset_ns,
            bytes_per_s=sum(size for *_, size in self._recent) * NANOSECONDS / RATE_WINDOW_NS,
        )

    def _rate(self) -> float:
        if len(self._recent) < 2:
            return 0.0
        span = self._recent[-1][0] - self._recent[0][0]
        after_first = sum(count for _, count, _ in self._recent) - self._recent[0][1]
        return after_first * NANOSECONDS / span if span else 0.0

    def _forget(self, now_ns: int) -> None:
        while self._recent and now_ns - self._recent[0][0] > RATE_WINDOW_NS:
            self._recent.popleft()

    def _intervals(self, times_ns: Sequence[int]) -> None:
        if self._last_ns is None:
            self._first_ns = self._last_ns = times_ns[0]
            times_ns = times_ns[1:]
        intervals = list(map(sub, times_ns, (self._last_ns, *times_ns)))
        if not intervals:
            return
        self._last_ns = times_ns[-1]
        self._squares += sum(map(mul, intervals, intervals))
        largest = max(intervals)
        self.largest_gap_ns = max(self.largest_gap_ns, largest)
        gap_ns = GAP_PERIODS * NANOSECONDS / self.expected_hz if self.expected_hz else math.inf
        if largest > gap_ns:
            self.gaps += sum(interval > gap_ns for interval in intervals)

    def _jitter_ns(self) -> int:
        count = self.count - 1  # intervals
        if count < 2 or self._last_ns is None or self._first_ns is None:
            return 0
        total = self._last_ns - self._first_ns
        return math.isqrt((count * self._squares - total * total) // (count * (count - 1)))

    def _stamps(self, stamps_ns: Sequence[int], times_ns: Sequence[int]) -> None:
        if 0 in stamps_ns:
            stamped = [pair for pair in zip(times_ns, stamps_ns, strict=True) if pair[1]]
            self.zero_stamps += len(stamps_ns) - len(stamped)
            if not stamped:
                return
            times_ns, stamps_ns = zip(*stamped, strict=True)
        self._offset_ns = times_ns[-1] - stamps_ns[-1]
        self._latency.add(map(sub, times_ns, stamps_ns))
        last_ns = self._last_stamp_ns
        for stamp_ns in stamps_ns:
            if last_ns is None or stamp_ns > last_ns:
                self._repeats = 0
            elif stamp_ns == last_ns:
                self.duplicates += 1
                self._repeats += 1
            else:
                self.out_of_order += 1
                self._repeats = 0
            last_ns = stamp_ns
        self._last_stamp_ns = last_ns

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Statistics of one stream as it arrives: rate against expectation, age, gaps, losses, stamps."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
import math

from teleop_bridge.clock import NANOSECONDS

GAP_PERIODS = 2.5  # an interval of more expected periods than this is a gap
RATE_WINDOW_NS = 2 * NANOSECONDS
FROZEN_REPEATS = 10  # messages in a row with one header stamp
_BUCKETS_PER_DECADE = 20  # of the latency histogram, from 10 us to 100 s
_LOWEST_NS = 10_000


class LatencyHistogram:
    """Latencies in logarithmic buckets: percentiles within 12 % in constant memory."""

    def __init__(self) -> None:
        self._counts = [0] * (7 * _BUCKETS_PER_DECADE + 1)
        self._total = 0

    def add(self, latency_ns: int) -> None:
        """Count one latency; what lies outside of the range goes to its ends."""
        ratio = max(latency_ns, _LOWEST_NS) / _LOWEST_NS
        bucket = min(int(_BUCKETS_PER_DECADE * math.log10(ratio)), len(self._counts) - 1)
        self._counts[bucket] += 1
        self._total += 1

    def percentile_ns(self, percent: float) -> int | None:
        """Return the upper edge of the bucket that holds the percentile; None without data."""
        if not self._total:
            return None
        need = math.ceil(self._total * percent / 100)
        for bucket, count in enumerate(self._counts):
            need -= count
            if need <= 0:
                return round(_LOWEST_NS * 10 ** ((bucket + 1) / _BUCKETS_PER_DECADE))
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
    """Follows one stream; ``received`` is called with each message, in order of arrival."""

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
    _last_ns: int | None = None
    _last_stamp_ns: int | None = None
    _offset_ns: int | None = None
    _last_sequence: int | None = None
    _repeats: int = 0
    _mean: float = 0.0
    _squares: float = 0.0
    _recent: deque[tuple[int, int]] = field(default_factory=deque)  # reception, ns, and bytes
    _recent_bytes: int = 0
    _latency: LatencyHistogram = field(default_factory=LatencyHistogram)

    def received(
        self,
        receive_ns: int,
        stamp_ns: int | None = None,
        sequence: int | None = None,
        size: int = 0,
    ) -> None:
        """Count one message: reception and stamp in ns, publisher's sequence number, bytes."""
        self.count += 1
        self._recent.append((receive_ns, size))
        self._recent_bytes += size
        self._forget(receive_ns)
        if self._last_ns is not None:
            self._interval(receive_ns - self._last_ns)
        self._last_ns = receive_ns
        if stamp_ns is not None:
            self._stamp(stamp_ns, receive_ns)
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
        deviation = math.sqrt(self._squares / (self.count - 1)) if self.count > 2 else 0.0
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
            jitter_ns=round(deviation),
            out_of_order=self.out_of_order,
            duplicates=self.duplicates,
            zero_stamps=self.zero_stamps,
            frozen=self._repeats >= FROZEN_REPEATS,
            latency_p50_ns=self._latency.percentile_ns(50),
            latency_p99_ns=self._latency.percentile_ns(99),
            stamp_offset_ns=self._offset_ns,
            bytes_per_s=self._recent_bytes * NANOSECONDS / RATE_WINDOW_NS,
        )

    def _rate(self) -> float:
        if len(self._recent) < 2:
            return 0.0
        span = self._recent[-1][0] - self._recent[0][0]
        return (len(self._recent) - 1) * NANOSECONDS / span if span else 0.0

    def _forget(self, now_ns: int) -> None:
        while self._recent and now_ns - self._recent[0][0] > RATE_WINDOW_NS:
            self._recent_bytes -= self._recent.popleft()[1]

    def _interval(self, interval_ns: int) -> None:
        # Welford's running variance over the intervals, of which there is one less than messages.
        delta = interval_ns - self._mean
        self._mean += delta / (self.count - 1)
        self._squares += delta * (interval_ns - self._mean)
        self.largest_gap_ns = max(self.largest_gap_ns, interval_ns)
        if self.expected_hz and interval_ns * self.expected_hz > GAP_PERIODS * NANOSECONDS:
            self.gaps += 1

    def _stamp(self, stamp_ns: int, receive_ns: int) -> None:
        if stamp_ns == 0:
            self.zero_stamps += 1
            return
        self._offset_ns = receive_ns - stamp_ns
        self._latency.add(self._offset_ns)
        if self._last_stamp_ns is not None:
            if stamp_ns < self._last_stamp_ns:
                self.out_of_order += 1
            if stamp_ns == self._last_stamp_ns:
                self.duplicates += 1
                self._repeats += 1
            else:
                self._repeats = 0
        self._last_stamp_ns = stamp_ns

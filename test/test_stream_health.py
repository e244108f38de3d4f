# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Statistics of a stream equal what was done to it."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st
import pytest

from recorder.bag.definitions import definition
from recorder.bag.stamps import has_header, header_stamp_ns
from recorder.health import FROZEN_REPEATS, LatencyHistogram, StreamHealth
from support.bags import joint_state, START_NS, STEP_NS


def steady(count: int, skip: frozenset[int] = frozenset()) -> StreamHealth:
    health = StreamHealth('/a', expected_hz=100.0, start_ns=START_NS)
    for i in range(count):
        if i not in skip:
            stamp = START_NS + i * STEP_NS
            health.received(stamp + 2_000_000, stamp, sequence=i)
    return health


def test_steady_stream() -> None:
    report = steady(300).report(START_NS + 300 * STEP_NS)
    assert (report.received, report.expected, report.lost, report.gaps) == (300, 300, 0, 0)
    assert report.rate_hz == pytest.approx(100.0)
    assert report.age_ns == 8_000_000
    assert report.jitter_ns == 0
    assert report.largest_gap_ns == STEP_NS
    assert report.latency_p50_ns == pytest.approx(2_000_000, rel=0.13)
    assert not report.frozen


@given(st.sets(st.integers(1, 98)))
def test_losses_equal_the_injected_ones(skip: set[int]) -> None:
    report = steady(100, frozenset(skip)).report(START_NS + 100 * STEP_NS)
    assert report.lost == len(skip)
    assert report.received == 100 - len(skip)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**8),  # interval, ns
            st.sampled_from([0, 1, 2, START_NS, START_NS + 5]),  # stamp
            st.none() | st.integers(0, 9),  # sequence
        ),
        min_size=1,
    ),
    st.integers(1, 7),
)
def test_batches_count_as_their_messages(
    arrivals: list[tuple[int, int, int | None]], size: int
) -> None:
    intervals, stamps, sequences = zip(*arrivals, strict=True)
    times = [START_NS + t for t in accumulate(intervals)]
    single, batched = (StreamHealth('/a', 30.0, start_ns=START_NS) for _ in range(2))
    for arrival in zip(times, stamps, sequences, strict=True):
        single.received(*arrival)
    for i in range(0, len(times), size):
        columns = (column[i : i + size] for column in (times, stamps, sequences))
        batched.received_batch(*columns, size=0)
    now = times[-1]
    ignored = {'rate_hz': 0.0}  # a batch counts at the time of its last message
    assert replace(batched.report(now), **ignored) == replace(single.report(now), **ignored)


def test_gap_is_counted_and_measured_also_at_the_end() -> None:
    health = steady(100, frozenset(range(40, 60)))
    report = health.report(START_NS + 300 * STEP_NS)
    assert report.gaps == 1
    assert report.largest_gap_ns == 201 * STEP_NS - 2_000_000


def test_silent_stream_has_a_gap_as_long_as_the_episode() -> None:
    report = StreamHealth('/a', 30.0, start_ns=START_NS).report(START_NS + 10 * STEP_NS)
    assert (report.received, report.expected, report.age_ns) == (0, 3, None)
    assert report.largest_gap_ns == 10 * STEP_NS


def test_bad_stamps_are_told_apart() -> None:
    health = StreamHealth('/a')
    for i, stamp in enumerate([5, 5, 3, 0, 7]):
        health.received(START_NS + i, stamp)
    report = health.report(START_NS + 5)
    assert (report.duplicates, report.out_of_order, report.zero_stamps) == (1, 1, 1)


def test_frozen_stamps_are_seen_and_forgotten() -> None:
    health = StreamHealth('/a')
    for i in range(FROZEN_REPEATS + 1):
        health.received(START_NS + i, 42)
    assert health.report(START_NS).frozen
    health.received(START_NS + 100, 43)
    assert not health.report(START_NS).frozen


def test_publisher_restart_is_not_a_loss() -> None:
    health = StreamHealth('/a')
    for sequence in (100, 101, 1, 2):
        health.received(START_NS, None, sequence)
    assert health.report(START_NS).lost == 0


@given(st.lists(st.integers(10_000, 10**11), min_size=1), st.sampled_from([50.0, 99.0]))
def test_percentiles_within_a_bucket(latencies: list[int], percent: float) -> None:
    histogram = LatencyHistogram()
    histogram.add(latencies)
    exact = sorted(latencies)[max(-(-len(latencies) * int(percent) // 100) - 1, 0)]
    found = histogram.percentile_ns(percent)
    assert found is not None and exact / 1.001 <= found <= exact * 1.123


def test_header_stamp_is_read_from_the_bytes() -> None:
    assert header_stamp_ns(joint_state(START_NS + 123, (1.0, 2.0))) == START_NS + 123
    assert header_stamp_ns(b'\0\1\0\0\1') is None
    assert has_header(definition('sensor_msgs/msg/JointState'))
    assert has_header(definition('teleop_flywheel/msg/Authority'))
    assert not has_header(definition('std_msgs/msg/String'))
    assert not has_header(definition('tf2_msgs/msg/TFMessage'))

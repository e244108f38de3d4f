# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Arming is a gate: what must hold of the streams and the disk before an episode may start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import math

from recorder.health import StreamReport
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.schema import Rig, Stamp, Stream

DEFAULT_AGE_NS = NANOSECONDS
GRACE_NS = 250_000_000  # a busy computer's scheduling: no reason to keep an operator waiting
CLOCK_BOUND_NS = 5 * NANOSECONDS  # a stamp this far from its reception is on another clock
RATE_SHARE = 0.7  # of the declared rate that must arrive


@dataclass(frozen=True)
class Fault:
    """One reason not to arm, with what to do about it."""

    stream: str
    found: str
    fix: str

    def __str__(self) -> str:
        """Return one sentence for the operator."""
        return f'{self.stream}: {self.found}; {self.fix}'


@dataclass(frozen=True)
class DiskState:
    """Room and pace of the disk that bags go to; bytes and bytes per second."""

    free: int
    floor: int
    rate: float = 0.0  # of the streams together
    write_rate: float = 0.0  # measured on this disk, 0 if not yet
    seconds: float = 0.0  # of recording that are still planned, 0 without a plan

    @property
    def minutes_left(self) -> float:
        """Return how long the disk takes the streams before its floor; infinite without any."""
        return max(self.free - self.floor, 0) / self.rate / 60 if self.rate else math.inf


def stream_faults(
    rig: Rig,
    names: Mapping[str, str],
    reports: Iterable[StreamReport],
    problems: Mapping[str, str],
) -> list[Fault]:
    """Return what is wrong with the rig's required streams.

    ``names`` maps a stream's name to its resolved topic; ``problems`` holds per topic what kept it
    from being subscribed (another type, a type that is not installed).
    """
    by_topic = {report.topic: report for report in reports}
    faults = []
    for stream in rig.streams:
        if not stream.required:
            continue
        topic = names[stream.name]
        if topic in problems:
            faults.append(
                Fault(stream.name, problems[topic], 'correct the rig file or the driver')
            )
            continue
        report = by_topic.get(topic)
        if report is None:
            faults.append(Fault(stream.name, f'nobody publishes {topic}', 'start its driver'))
            continue
        fault = _delivery_fault(stream, report) or _stamp_fault(stream, report)
        if fault is not None:
            faults.append(fault)
    return faults


def _delivery_fault(stream: Stream, report: StreamReport) -> Fault | None:
    if stream.latched:
        if report.received:
            return None
        return Fault(stream.name, f'no message on {report.topic}', 'restart its publisher')
    if not stream.rate_hz:
        return None
    period = round(3 * NANOSECONDS / stream.rate_hz)
    limit = max(stream.max_age_ns or DEFAULT_AGE_NS, period) + GRACE_NS
    if report.age_ns is None:
        return Fault(stream.name, f'no message on {report.topic}', 'check its driver and cable')
    if report.age_ns > limit:
        return Fault(
            stream.name,
            f'last message {report.age_ns / 1e6:.0f} ms ago, allowed {limit / 1e6:.0f} ms',
            'check its driver and cable',
        )
    if report.rate_hz < RATE_SHARE * stream.rate_hz:
        return Fault(
            stream.name,
            f'{report.rate_hz:.1f} Hz, expected {stream.rate_hz:g} Hz',
            'check its driver, exposure time and the network',
        )
    return None


def _stamp_fault(stream: Stream, report: StreamReport) -> Fault | None:
    if stream.stamp is not Stamp.HEADER or stream.latched or report.latency_p50_ns is None:
        if report.zero_stamps and stream.stamp is Stamp.HEADER:
            return Fault(
                stream.name,
                'header stamps are zero',
                "let its driver stamp, or declare 'stamp: receive'",
            )
        return None
    if report.frozen:
        return Fault(stream.name, 'header stamps no longer move', 'restart its driver')
    off = report.stamp_offset_ns
    if off is not None and abs(off) > CLOCK_BOUND_NS:
        return Fault(
            stream.name,
            f'header stamps are {abs(off) / 1e9:.1f} s off the {stream.clock.value} clock',
            "check the driver's clock, or its 'clock' key",
        )
    return None


def disk_faults(disk: DiskState) -> list[Fault]:
    """Return what is wrong with the disk."""
    need = disk.floor + int(disk.rate * max(disk.seconds, 60.0))
    faults = []
    if disk.free < need:
        faults.append(
            Fault(
                'disk',
                f'{disk.free / 1e9:.1f} GB free, expected {need / 1e9:.1f} GB',
                'free some space or choose another output folder',
            )
        )
    if 0 < disk.write_rate < disk.rate:
        faults.append(
            Fault(
                'disk',
                f'writes {disk.write_rate / 1e6:.0f} MB/s, the streams need '
                f'{disk.rate / 1e6:.0f} MB/s',
                'use a faster disk or compressed cameras',
            )
        )
    return faults

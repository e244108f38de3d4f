# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The gate lets nothing through that an episode would suffer from, and says what to do."""

from __future__ import annotations

import pytest

from recorder.gate import disk_faults, DiskState, stream_faults
from recorder.health import StreamHealth
from support.bags import START_NS
from teleop_bridge.rig.loader import parse_rig

RIG = parse_rig("""
rig: tiny
joints: {a: {}}
streams:
  state: {topic: /state, type: sensor_msgs/msg/JointState, role: state, rate_hz: 100,
          max_age_ms: 100}
  info: {topic: /info, type: sensor_msgs/msg/CameraInfo, role: camera_info, latched: true}
  extra: {topic: /extra, type: std_msgs/msg/String, role: other, required: false}
""")
NAMES = {stream.name: stream.topic for stream in RIG.streams}
PERIOD = 10_000_000
NOW = START_NS + 100 * PERIOD


def health(
    *, rate_hz: float = 100.0, stamp_offset_ns: int = 0, frozen: bool = False, zero: bool = False
) -> StreamHealth:
    health = StreamHealth('/state', 100.0)
    period = round(1e9 / rate_hz)
    for i in range(int(rate_hz)):
        time_ns = START_NS + i * period
        stamp = 0 if zero else START_NS if frozen else time_ns + stamp_offset_ns
        health.received(time_ns, stamp)
    return health


def faults(
    state: StreamHealth | None,
    now_ns: int = NOW,
    *,
    latched: bool = True,
    problems: dict[str, str] | None = None,
) -> list[str]:
    info = StreamHealth('/info')
    if latched:
        info.received(START_NS)
    reports = [entry.report(now_ns) for entry in (state, info) if entry is not None]
    return [str(fault) for fault in stream_faults(RIG, NAMES, reports, problems or {})]


def test_healthy_streams_pass_and_optional_ones_may_be_absent() -> None:
    assert faults(health()) == []


@pytest.mark.parametrize(
    ('found', 'sentence'),
    [
        (None, 'state: nobody publishes /state; start its driver'),
        (StreamHealth('/state', 100.0), 'state: no message on /state; check its driver and cable'),
        (health(rate_hz=50.0), 'state: 50.0 Hz, expected 100 Hz'),
        (health(frozen=True), 'state: header stamps no longer move; restart its driver'),
        (health(zero=True), 'state: header stamps are zero; let its driver stamp'),
        (
            health(stamp_offset_ns=-3600 * 10**9),
            'state: header stamps are 3600.0 s off the session',
        ),
    ],
)
def test_each_fault_is_named_with_its_fix(found: StreamHealth | None, sentence: str) -> None:
    (fault,) = faults(found)
    assert fault.startswith(sentence)


def test_stale_stream_and_missing_latched_message() -> None:
    stale, missing = faults(health(), NOW + 10**9, latched=False)
    assert stale.startswith('state: last message 1010 ms ago, allowed 350 ms')
    assert missing == 'info: no message on /info; restart its publisher'


def test_topic_of_another_type_is_reported_as_such() -> None:
    problem = '/state: expected type sensor_msgs/msg/JointState, found std_msgs/msg/String'
    (fault,) = faults(health(), problems={'/state': problem})
    assert problem in fault


def test_disk_needs_room_for_the_plan_above_its_floor() -> None:
    gigabyte = 10**9
    assert disk_faults(DiskState(50 * gigabyte, gigabyte, rate=1e8, seconds=400)) == []
    (fault,) = disk_faults(DiskState(40 * gigabyte, gigabyte, rate=1e8, seconds=400))
    assert str(fault).startswith('disk: 40.0 GB free, expected 41.0 GB; free some space')
    (fault,) = disk_faults(DiskState(50 * gigabyte, gigabyte, rate=1e8, write_rate=5e7))
    assert str(fault).startswith('disk: writes 50 MB/s, the streams need 100 MB/s')

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Faults of disks, cameras and clocks: counted losses equal the injected ones."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import random
import subprocess
import time

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
from numpy.typing import NDArray
import pytest

from recorder.bag import mcap_file, messages
from recorder.bag.content_id import content_id
from recorder.bag.mcap_reader import bag_file, read_messages
from recorder.capture import Capture
from recorder.episode import EpisodeRecorder, verify
from recorder.facts import EndReason, SessionFacts
from recorder.gate import stream_faults
from recorder.health import StreamHealth, StreamReport
from recorder.reception import MAX_QUEUED_NS, reception_ns
from support.bags import START_NS, topic
from teleop_bridge.rig.loader import parse_rig

CAMERA = topic('/camera', messages.IMAGE)
PERIOD_NS = 33_333_333
HOUR_NS = 3600 * 10**9
RIG = parse_rig("""
rig: one_camera
joints: {a: {}}
streams:
  camera: {topic: /camera, type: sensor_msgs/msg/Image, role: camera, rate_hz: 30, max_age_ms: 200}
""")


def recording(folder: Path, index: int = 0) -> tuple[EpisodeRecorder, Capture]:
    capture = Capture()
    capture.add_topic(CAMERA, expected_hz=30.0)
    facts = SessionFacts('s', episode_index=index, start_ns=START_NS)
    return EpisodeRecorder(folder, capture, facts, files={}), capture


def feed(capture: Capture, count: int, size: int = 300_000) -> None:
    for i in range(count):
        stamp = START_NS + i * PERIOD_NS
        header = messages.image(stamp, _pixels(size), encoding='mono8')
        capture.arrived('/camera', header, stamp, stamp, i)


def _pixels(size: int) -> NDArray[np.uint8]:
    return np.full((1, size), random.randrange(256), np.uint8)


def test_disk_that_stalls_delays_nobody_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fdatasync
    stalls = iter([3.0])

    def stalling(descriptor: int) -> None:
        time.sleep(next(stalls, 0.0))
        real(descriptor)

    episode, capture = recording(tmp_path)
    monkeypatch.setattr(mcap_file.os, 'fdatasync', stalling)
    begun = time.monotonic()
    waiting = 0
    while time.monotonic() - begun < 3.5:
        feed(capture, 3)
        waiting = max(waiting, episode.writer.queued_bytes)
        time.sleep(0.03)
    closed = episode.close(START_NS)
    (report,) = closed.reports
    assert waiting > 3_000_000, 'the disk never stalled'
    assert report.unwritten == 0 and not closed.error
    assert len(list(read_messages(bag_file(closed.path)))) == report.received


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / 'disk'
    place.mkdir()
    made = subprocess.run(
        ['mount', '-t', 'tmpfs', '-o', 'size=20m', 'tmpfs', str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f'a small disk needs the right to mount one: {made.stderr.strip()}')
    yield place
    subprocess.run(['umount', str(place)], check=True)


def test_small_full_disk(small_disk: Path) -> None:
    """What fits is in the bag, the rest is counted, and the episode before is untouched."""
    first, capture = recording(small_disk)
    feed(capture, 10)
    earlier = first.close(START_NS)
    verify(earlier)
    before = {path: path.read_bytes() for path in earlier.path.iterdir()}
    second, capture = recording(small_disk, 1)
    for _ in range(10):
        feed(capture, 10)
        time.sleep(0.05)
    closed = second.close(START_NS)
    (report,) = closed.reports
    assert 'the disk is full' in closed.error
    assert closed.facts.end_reason == EndReason.DISK_ERROR.value
    found = list(read_messages(bag_file(closed.path)))
    assert found and report.unwritten and len(found) + report.unwritten == report.received == 100
    first_ns, last_ns = report.unwritten_span_ns
    assert first_ns <= last_ns == START_NS + 9 * PERIOD_NS
    assert {path: path.read_bytes() for path in before} == before
    assert content_id(earlier.path) == earlier.id


def camera(*, halves: bool = False, freezes: bool = False, epoch_ns: int = 0) -> StreamReport:
    """Return the report of a camera that is well for two seconds, then faulty for three."""
    health = StreamHealth('/camera', 30.0, start_ns=START_NS)
    for i in range(150):
        arrival = START_NS + i * PERIOD_NS
        faulty = i >= 60
        if faulty and halves and i % 2:
            continue
        stamp = arrival + (epoch_ns if faulty else 0)
        health.received(arrival, START_NS if faulty and freezes else stamp)
    return health.report(START_NS + 150 * PERIOD_NS)


@pytest.mark.parametrize(
    ('fault', 'sentence'),
    [
        ({'halves': True}, 'camera: 15.0 Hz, expected 30 Hz'),
        ({'freezes': True}, 'camera: header stamps no longer move'),
        ({'epoch_ns': -START_NS}, 'off the session clock'),
    ],
)
def test_camera_that_changes_is_named(fault: dict[str, int], sentence: str) -> None:
    names = {'camera': '/camera'}
    assert stream_faults(RIG, names, [camera()], {}) == []
    (found,) = stream_faults(RIG, names, [camera(**fault)], {})
    assert sentence in str(found)


def test_camera_faults_are_counted_as_injected() -> None:
    assert camera(halves=True).received == 60 + 45
    assert camera(freezes=True).duplicates == 89
    assert camera(epoch_ns=-HOUR_NS).out_of_order == 1


@given(
    step_ns=st.one_of(st.integers(-HOUR_NS, -1), st.integers(MAX_QUEUED_NS + 1, HOUR_NS)),
    waited_ns=st.integers(0, 100_000_000),
)
def test_wall_clock_step_shifts_no_reception(step_ns: int, waited_ns: int) -> None:
    """Before the step the wait is told exactly; across it, it counts as none."""
    session, wall = START_NS, START_NS + 5 * HOUR_NS
    assert reception_ns(wall - waited_ns, wall_ns=wall, session_ns=session) == session - waited_ns
    across = reception_ns(wall - waited_ns, wall_ns=wall + step_ns, session_ns=session)
    assert session - MAX_QUEUED_NS <= across <= session

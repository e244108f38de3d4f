# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What arrives is in the bag exactly once: live, latched, from before the start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
import threading

import pytest

from recorder.bag.background import BackgroundWriter
from recorder.bag.content_id import content_id
from recorder.bag.mcap_reader import bag_file, read_messages
from recorder.bag.topic import TopicInfo
from recorder.bag.writer import open_bag
from recorder.capture import Capture
from recorder.exceptions import BagWriteError, TopicError
from support.bags import joint_state, START_NS, STEP_NS, topic

JOINTS = topic('/joint_states', 'sensor_msgs/msg/JointState')
LATCHED = topic('/robot_description', 'std_msgs/msg/String', latched=True)


class StalledWriter:
    """A BagWriter whose disk stands still until it is let go, or fails at a given message."""

    def __init__(self, *, fail_at: int = -1) -> None:
        self.path = Path('stalled')
        self.go = threading.Event()
        self.written: list[bytes] = []
        self.fail_at = fail_at
        self.closed = False

    def add_topic(self, topic: TopicInfo) -> None:
        pass

    def write(self, topic: str, data: bytes, log_time_ns: int, publish_time_ns: int) -> None:
        self.go.wait()
        if len(self.written) == self.fail_at:
            raise BagWriteError('stalled: the disk is full')
        self.written.append(data)

    def sync(self) -> None:
        self.go.wait()

    def counts(self) -> Mapping[str, int]:
        return {'/joint_states': len(self.written)}

    def close(self, custom_data: Mapping[str, str] | None = None) -> None:
        self.closed = True


def background(path: Path) -> BackgroundWriter:
    return BackgroundWriter(open_bag(path, custom_data={}, storage='mcap'))


def feed(capture: Capture, first: int, last: int) -> None:
    for i in range(first, last):
        stamp = START_NS + i * STEP_NS
        capture.arrived('/joint_states', joint_state(stamp, (i, i)), stamp + 1_000_000, stamp, i)


def logged(path: Path, name: str) -> list[int]:
    return [m.log_ns for m in read_messages(bag_file(path)) if m.topic == name]


def test_preroll_joins_without_overlap_and_latched_comes_first(tmp_path: Path) -> None:
    capture = Capture(preroll_ns=20 * STEP_NS)
    capture.add_topic(JOINTS, expected_hz=100.0)
    capture.add_topic(LATCHED)
    capture.arrived('/robot_description', b'\0\1\0\0<robot/>', START_NS, START_NS)
    feed(capture, 0, 100)
    writer = background(tmp_path / 'bag')
    now = START_NS + 100 * STEP_NS
    start = capture.begin(writer, now)
    feed(capture, 100, 150)
    reports = {r.topic: r for r in capture.finish(now + 50 * STEP_NS)}
    feed(capture, 150, 160)
    writer.close()
    expected = [START_NS + i * STEP_NS + 1_000_000 for i in range(80, 150)]
    assert logged(tmp_path / 'bag', '/joint_states') == expected
    assert start == expected[0]
    assert logged(tmp_path / 'bag', '/robot_description') == [start]
    assert reports['/joint_states'].received == 70
    assert reports['/robot_description'].received == 1
    assert reports['/joint_states'].lost == reports['/joint_states'].gaps == 0


def test_every_bag_has_the_latched_message_of_each_publisher(tmp_path: Path) -> None:
    capture = Capture()
    capture.add_topic(topic('/tf_static', 'std_msgs/msg/String', latched=True), publishers=2)
    for data in (b'old', b'one', b'two'):
        capture.arrived('/tf_static', data, START_NS, START_NS)
    for name in ('a', 'b'):
        writer = background(tmp_path / name)
        capture.begin(writer, START_NS + 1)
        capture.finish(START_NS + 2)
        writer.close()
        found = [m.data for m in read_messages(bag_file(tmp_path / name))]
        assert sorted(found) == [b'one', b'two']


def test_what_came_before_start_and_end_is_taken_first(tmp_path: Path) -> None:
    """The middleware holds what came a moment ago; a latched one is then not put before itself."""
    capture = Capture()
    capture.add_topic(JOINTS)
    capture.add_topic(LATCHED)
    held = [('/robot_description', b'one', START_NS), ('/joint_states', b'before', START_NS)]
    now = START_NS + 100

    def catch_up() -> None:
        for name, data, stamp in held:
            capture.arrived(name, data, stamp, stamp)
        held.clear()

    capture.catch_up = catch_up
    writer = background(tmp_path / 'bag')
    capture.begin(writer, now)
    held += [('/robot_description', b'two', now - 1), ('/joint_states', b'within', now + 1)]
    capture.finish(now + 2)
    writer.close()
    found = [(m.data, m.log_ns) for m in read_messages(bag_file(tmp_path / 'bag'))]
    assert sorted(found) == [(b'one', now), (b'two', now), (b'within', now + 1)]
    assert writer.content_id() == content_id(tmp_path / 'bag')


def test_preroll_of_topics_that_came_in_batches_is_cut_and_ordered_by_time(tmp_path: Path) -> None:
    capture = Capture(preroll_ns=5)
    for name in ('/a', '/b'):
        capture.add_topic(topic(name, 'std_msgs/msg/String'))
        capture.arrived_batch(name, [(b'', START_NS + i, 0, None) for i in range(10)])
    writer = background(tmp_path / 'bag')
    assert capture.begin(writer, START_NS + 10) == START_NS + 5
    writer.close()
    for name in ('/a', '/b'):
        assert logged(tmp_path / 'bag', name) == [START_NS + i for i in range(5, 10)]


def test_id_computed_while_writing_is_the_files(tmp_path: Path) -> None:
    capture = Capture(preroll_ns=STEP_NS)
    capture.add_topic(JOINTS)
    feed(capture, 0, 10)
    writer = background(tmp_path / 'bag')
    capture.begin(writer, START_NS + 10 * STEP_NS)
    feed(capture, 10, 40)
    writer.close()
    assert writer.content_id() == content_id(tmp_path / 'bag')


def test_full_queue_counts_what_it_loses_and_time_never_waits() -> None:
    inner = StalledWriter()
    writer = BackgroundWriter(inner, queue_bytes=1000, hash_content=False)
    writer.add_topic(JOINTS)
    for i in range(50):
        writer.write('/joint_states', bytes(100), START_NS + i, 0)
    assert writer.queued_bytes <= 1000 + 100
    inner.go.set()
    writer.close()
    lost = writer.lost['/joint_states']
    assert lost >= 30 and lost + len(inner.written) == 50
    assert writer.lost_spans['/joint_states'][1] == START_NS + 49
    assert inner.closed


def test_batch_that_does_not_fit_is_queued_as_far_as_it_does() -> None:
    inner = StalledWriter()
    writer = BackgroundWriter(inner, queue_bytes=1000, hash_content=False)
    writer.add_topic(JOINTS)
    writer.write_batch('/joint_states', [(bytes(100), START_NS + i, 0, i) for i in range(15)])
    inner.go.set()
    writer.close()
    assert len(inner.written) == 10 and writer.lost == {'/joint_states': 5}
    assert writer.lost_spans['/joint_states'] == (START_NS + 10, START_NS + 14)


def test_refusing_disk_ends_writing_counts_the_rest_and_still_closes() -> None:
    inner = StalledWriter(fail_at=5)
    inner.go.set()
    writer = BackgroundWriter(inner, hash_content=False)
    writer.add_topic(JOINTS)
    for i in range(20):
        writer.write('/joint_states', bytes([i]), START_NS + i, 0)
    writer.close()
    assert isinstance(writer.error, BagWriteError)
    assert len(inner.written) == 5 and writer.lost == {'/joint_states': 15}
    assert writer.content_id() == '' and inner.closed


def test_losses_are_told_of_one_publisher_and_never_made_up_of_two() -> None:
    capture = Capture()
    for publishers, sequences, lost in ((1, (1, 2, 5), 2), (2, (1, 100, 2, 101), 0)):
        name = f'/from_{publishers}'
        capture.add_topic(topic(name, 'std_msgs/msg/String'), publishers=publishers)
        for sequence in sequences:
            capture.arrived(name, bytes(8), START_NS, START_NS, sequence)
        (report,) = (r for r in capture.reports(START_NS) if r.topic == name)
        assert report.lost == lost


def test_topic_that_changes_type_is_refused_while_recording(tmp_path: Path) -> None:
    capture = Capture()
    capture.add_topic(JOINTS)
    writer = background(tmp_path / 'bag')
    capture.begin(writer, START_NS)
    changed = topic('/joint_states', 'std_msgs/msg/String')
    with pytest.raises(TopicError, match='/joint_states is sensor_msgs/msg/JointState'):
        capture.add_topic(changed)
    feed(capture, 0, 3)
    capture.finish(START_NS + 3 * STEP_NS)
    writer.close()
    capture.add_topic(changed)
    assert len(logged(tmp_path / 'bag', '/joint_states')) == 3


def test_topic_that_appears_late_joins_the_bag(tmp_path: Path) -> None:
    capture = Capture()
    writer = background(tmp_path / 'bag')
    capture.begin(writer, START_NS)
    capture.add_topic(JOINTS, expected_hz=100.0)
    feed(capture, 50, 60)
    (report,) = capture.finish(START_NS + 100 * STEP_NS)
    writer.close()
    assert len(logged(tmp_path / 'bag', '/joint_states')) == report.received == 10
    assert report.expected == 100

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The running recorder while publishers, parents and disks fail: nothing earlier changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
import random
import signal
import subprocess
import sys
import time

from mcap.reader import make_reader
import pytest

pytest.importorskip('rclpy', reason='rclpy (ROS 2) is not installed')
pytest.importorskip('teleop_flywheel.msg', reason='our messages are not built')

from rclpy.qos import (
    DurabilityPolicy,
    qos_profile_sensor_data,
    QoSProfile,
    ReliabilityPolicy,
)
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from teleop_flywheel.srv import EndEpisode

from recorder.bag.definitions import typestore
from recorder.bag.mcap_reader import bag_file, read_facts, read_messages
from recorder.bag.stamps import header_stamp_ns
from recorder.facts import EpisodeFacts, from_json, read_sidecar
from support import stalling_recorder, stepping_recorder
from support.live import environment, new_domain, wait_until
from support.tiny_rig import files, numbers, recorder, TEXT, TinyRig

DOMAIN = new_domain()
faults = pytest.mark.faults
TIMES = [1, pytest.param(5, marks=faults)]


@pytest.fixture
def rig() -> Iterator[TinyRig]:
    rig = TinyRig(DOMAIN)
    yield rig
    rig.close()


def facts(bag: Path) -> EpisodeFacts:
    """Return what the bag says of its end, read by the standard reader as well."""
    with open(bag_file(bag), 'rb') as file:
        count = sum(1 for _ in make_reader(file, validate_crcs=True).iter_messages())
    episode = from_json(EpisodeFacts, read_facts(bag_file(bag))['episode'], 'bag')
    assert count == sum(s['received'] - s['unwritten'] for s in episode.streams)
    return episode


def unbroken(values: list[float]) -> bool:
    return len(values) > 20 and values == [values[0] + i for i in range(len(values))]


@pytest.mark.parametrize('times', TIMES)
def test_publisher_that_dies_and_returns_as_best_effort(
    tmp_path: Path, rig: TinyRig, times: int
) -> None:
    with recorder(tmp_path, DOMAIN):
        earlier = files(rig.record(0.3))
        for _ in range(times):
            assert rig.call(Trigger, 'start_trigger').success
            rig.spin(0.5)
            rig.node.destroy_publisher(rig.command)
            rig.command = rig.node.create_publisher(JointState, 'command', qos_profile_sensor_data)
            rig.spin(2.0)
            bag = Path(rig.call(EndEpisode, 'end', grade='partial').bag)
            values = numbers(bag, '/command')
            assert values == sorted(set(values))
            lost = values[-1] - values[0] + 1 - len(values)
            assert values[-1] - values[0] > 100 and lost < 100  # until both have matched
            assert facts(bag).end_reason == 'graded'
    assert {path: path.read_bytes() for path in earlier} == earlier


@pytest.mark.parametrize('times', TIMES)
def test_twenty_publishers_of_mixed_qos(tmp_path: Path, rig: TinyRig, times: int) -> None:
    """Best effort and reliable, volatile and latched, on ten topics of two publishers each."""
    profiles = [
        QoSProfile(depth=10, reliability=reliability, durability=durability)
        for reliability in (ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT)
        for durability in (DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL)
    ]
    streams = ''.join(
        f'  t{i}: {{topic: t{i}, type: std_msgs/msg/String, role: other, required: false}}\n'
        for i in range(10)
    )
    publishers = [
        rig.node.create_publisher(String, f't{i}', profiles[(i + j) % 4])
        for i in range(10)
        for j in range(2)
    ]
    with recorder(tmp_path, DOMAIN, text=TEXT + streams):
        earlier = files(rig.record(2.0))
        for _ in range(times):
            assert rig.call(Trigger, 'start_trigger').success
            for round_ in range(50):
                for number, publisher in enumerate(publishers):
                    publisher.publish(String(data=f'{number} {round_}'))
                rig.spin(0.02)
            rig.spin(0.5)
            bag = Path(rig.call(EndEpisode, 'end', grade='partial').bag)
            start_ns = facts(bag).start_ns
            counts = Counter(
                m.topic for m in read_messages(bag_file(bag)) if m.log_ns > start_ns
            )
            assert [counts[f'/t{i}'] for i in range(10)] == [100] * 10
    assert {path: path.read_bytes() for path in earlier} == earlier


@pytest.mark.parametrize('times', TIMES)
def test_sigterm_during_a_flush_closes_the_bag(tmp_path: Path, rig: TinyRig, times: int) -> None:
    """On a disk that takes half a second for each sync, of which there are two a second."""
    slow = [stalling_recorder.__file__, '0.5', '1', '1000000']
    for attempt in range(times):
        session = f's{attempt}'
        with recorder(tmp_path, DOMAIN, session_id=session, program=slow) as process:
            earlier = files(rig.record(0.3))
            assert rig.call(Trigger, 'start_trigger').success
            rig.spin(random.uniform(0.4, 1.2))
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        bag = tmp_path / f'bags/{session}/{session}_op1_e0001'
        assert facts(bag).end_reason == 'interrupted'
        assert unbroken(numbers(bag, '/command'))
        assert {path: path.read_bytes() for path in earlier} == earlier


def test_lost_parent_ends_the_recorder_with_its_bag_closed(tmp_path: Path, rig: TinyRig) -> None:
    """The recorder's parent is a shell, which is killed."""
    (tmp_path / 'rig.yaml').write_text(TEXT)
    options = f'rig:={tmp_path}/rig.yaml output:={tmp_path}/bags session_id:=s1 disk_floor_mb:=1'
    arguments = ' '.join(f'-p {option}' for option in options.split())
    line = f'{sys.executable} -m recorder.nodes.recorder --ros-args {arguments} & wait'
    shell = subprocess.Popen(['sh', '-c', line], env=environment(DOMAIN))
    earlier = files(rig.record(0.3))
    assert rig.call(Trigger, 'start_trigger').success
    rig.spin(0.5)
    shell.kill()
    shell.wait()
    bag = tmp_path / 'bags/s1/s1_e0001'
    wait_until(
        lambda: read_sidecar(bag)['state'] == 'saved', lambda: rig.spin(0.05), f'{bag} saved'
    )
    assert facts(bag).end_reason == 'interrupted'
    assert unbroken(numbers(bag, '/command'))
    wait_until(
        lambda: not rig.node.get_publishers_info_by_topic('/recorder/status'),
        lambda: rig.spin(0.05),
        'the recorder to end',
    )
    assert {path: path.read_bytes() for path in earlier} == earlier


def test_topic_that_changes_type_stays_out_and_is_named(tmp_path: Path, rig: TinyRig) -> None:
    with recorder(tmp_path, DOMAIN, arm_timeout_s=2.0):
        wait_until(
            lambda: bool(rig.node.get_publishers_info_by_topic('/recorder/status')),
            lambda: rig.spin(0.1),
            'the recorder',
        )
        rig.spin(1.0)
        earlier = files(rig.record(0.3))
        assert rig.call(Trigger, 'start_trigger').success
        rig.spin(0.5)
        rig.node.destroy_publisher(rig.command)
        other = rig.node.create_publisher(String, 'command', 10)
        rig.command = rig.node.create_publisher(JointState, 'command_elsewhere', 10)
        for _ in range(20):
            other.publish(String(data='x'))
            rig.spin(0.05)
        bag = Path(rig.call(EndEpisode, 'end', grade='failure').bag)
        refused = rig.call(Trigger, 'start_trigger')
    assert 'expected type sensor_msgs/msg/JointState, found std_msgs/msg/String' in refused.message
    assert {m.type for m in read_messages(bag_file(bag)) if m.topic == '/command'} == {
        'sensor_msgs/msg/JointState'
    }
    assert facts(bag).grade == 'failure'
    assert {path: path.read_bytes() for path in earlier} == earlier


CAMERA = """  camera: {topic: camera, type: sensor_msgs/msg/Image, role: camera, rate_hz: 30,
           max_age_ms: 500}
"""


class Camera:
    """Publishes images at 30 Hz, at half of that, with a frozen stamp, or of another epoch."""

    def __init__(self, rig: TinyRig) -> None:
        self.halves, self.frozen, self.epoch_ns = False, False, 0
        self.stamps: list[int] = []
        self._publisher = rig.node.create_publisher(Image, 'camera', 30)
        self._calls = 0
        rig.node.create_timer(1 / 30, self._publish)

    def _publish(self) -> None:
        self._calls += 1
        if self.halves and self._calls % 2:
            return
        stamp = self.stamps[-1] if self.frozen else time.time_ns() + self.epoch_ns
        self.stamps.append(stamp)
        message = Image(height=48, width=64, encoding='mono8', step=64, data=bytes(64 * 48))
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        self._publisher.publish(message)


@faults
def test_camera_that_halves_its_rate_freezes_and_restarts_in_another_epoch(
    tmp_path: Path, rig: TinyRig
) -> None:
    camera = Camera(rig)
    with recorder(tmp_path, DOMAIN, text=TEXT + CAMERA, arm_timeout_s=4.0):
        rig.spin(3.0)
        earlier = files(rig.record(0.5))
        assert rig.call(Trigger, 'start_trigger').success
        rig.spin(1.0)
        camera.halves = True
        rig.spin(2.5)
        camera.halves, camera.frozen = False, True
        rig.spin(1.0)
        camera.frozen, camera.epoch_ns = False, -(10**18)
        rig.spin(1.0)
        bag = Path(rig.call(EndEpisode, 'end', grade='partial').bag)
        (stream,) = (s for s in facts(bag).streams if s['topic'] == '/camera')
        found = [
            header_stamp_ns(m.data) for m in read_messages(bag_file(bag)) if m.topic == '/camera'
        ]
        start = camera.stamps.index(found[0])
        sent = camera.stamps[start : start + len(found)]
        assert found == sent and stream['received'] == len(sent) and not stream['unwritten']
        pairs = list(pairwise(sent))
        assert stream['duplicates'] == sum(a == b for a, b in pairs) > 20
        assert stream['out_of_order'] == sum(a > b for a, b in pairs) == 1
        assert 'off the' in rig.call(Trigger, 'start_trigger').message
        camera.epoch_ns, camera.frozen = 0, True
        camera.stamps.append(time.time_ns())
        rig.spin(1.0)
        assert 'header stamps no longer move' in rig.call(Trigger, 'start_trigger').message
        camera.frozen, camera.halves = False, True
        rig.spin(3.0)
        refused = rig.call(Trigger, 'start_trigger').message
        assert 'camera: 1' in refused and 'expected 30 Hz' in refused
    assert {path: path.read_bytes() for path in earlier} == earlier


@pytest.mark.parametrize('hours', [1, pytest.param(-1, marks=faults)])
def test_step_of_the_wall_clock_moves_no_time_in_the_bag(
    tmp_path: Path, rig: TinyRig, hours: int
) -> None:
    """The recorder's wall clock steps; that it did is in the bag, and no more."""
    program = [stepping_recorder.__file__, str(3600 * hours)]
    with recorder(tmp_path, DOMAIN, program=program) as process:
        earlier = files(rig.record(0.3))
        assert rig.call(Trigger, 'start_trigger').success
        rig.spin(1.5)
        process.send_signal(signal.SIGUSR1)
        rig.spin(2.0)
        bag = Path(rig.call(EndEpisode, 'end', grade='partial').bag)
    assert facts(bag).grade == 'partial'
    assert unbroken(numbers(bag, '/command'))
    messages = list(read_messages(bag_file(bag)))
    times = [m.log_ns for m in messages if m.topic == '/command']
    assert max(b - a for a, b in pairwise(times)) < 10**9
    drifts = [
        typestore().deserialize_cdr(m.data, m.type).data
        for m in messages
        if m.topic == '/session/ros_offset'
    ]
    assert abs(drifts[-1] - drifts[0] - hours * 3600 * 10**9) < 10**9
    assert {path: path.read_bytes() for path in earlier} == earlier

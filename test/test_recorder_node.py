# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The recorder node over the real middleware: what was published is in the bag."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest

rclpy = pytest.importorskip('rclpy', reason='rclpy (ROS 2) is not installed')
pytest.importorskip('teleop_flywheel.msg', reason='our messages are not built')

from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data, QoSProfile  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from teleop_flywheel.srv import EndEpisode, StartEpisode  # noqa: E402

from recorder.bag.content_id import content_id  # noqa: E402
from recorder.bag.mcap_reader import bag_file, read_facts, read_messages  # noqa: E402
from recorder.facts import EpisodeFacts, from_json, SessionFacts  # noqa: E402

DOMAIN = '61'
RIG = """
rig: two_joints
robot_type: test
joints:
  a: {}
  b: {}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, rate_hz: 100,
          max_age_ms: 500}
  action: {topic: command, type: sensor_msgs/msg/JointState, role: action, rate_hz: 100,
           max_age_ms: 500}
  description: {topic: robot_description, type: std_msgs/msg/String, role: other, latched: true}
"""


class Rig:
    """Publishes a tiny rig's topics and calls the recorder's services."""

    def __init__(self) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=int(DOMAIN))
        self.node = rclpy.create_node('tiny_rig', context=self.context)
        self.executor = rclpy.executors.SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.description = self.node.create_publisher(String, 'robot_description', latched)
        self.description.publish(String(data='<robot/>'))
        self.state = self.node.create_publisher(
            JointState, 'joint_states', qos_profile_sensor_data
        )
        self.command = self.node.create_publisher(JointState, 'command', 10)
        self.published = 0
        self.node.create_timer(0.01, self._publish)

    def _publish(self) -> None:
        message = JointState(name=['a', 'b'], position=[float(self.published), 0.0])
        message.header.stamp = self.node.get_clock().now().to_msg()
        self.state.publish(message)
        self.command.publish(message)
        self.published += 1

    def spin(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.executor.spin_once(timeout_sec=0.02)

    def call(self, type_: type, name: str, **fields: str) -> object:
        client = self.node.create_client(type_, f'recorder/{name}')
        assert client.wait_for_service(timeout_sec=20.0), f'recorder/{name} is not served'
        future = client.call_async(type_.Request(**fields))
        self.executor.spin_until_future_complete(future, timeout_sec=30.0)
        self.node.destroy_client(client)
        assert future.done(), f'recorder/{name} did not answer'
        return future.result()

    def close(self) -> None:
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.close()


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / 'rig.yaml').write_text(RIG)
    parameters = {
        'rig': tmp_path / 'rig.yaml',
        'output': tmp_path / 'bags',
        'session_id': 's1',
        'operator_id': 'op1',
        'arm_timeout_s': 20.0,
        'disk_floor_mb': 1,
    }
    arguments = [word for key, value in parameters.items() for word in ('-p', f'{key}:={value}')]
    process = subprocess.Popen(
        [sys.executable, '-m', 'recorder.nodes.recorder', '--ros-args', *arguments],
        text=True,
        env={**os.environ, 'ROS_DOMAIN_ID': DOMAIN, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    yield process
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def positions(bag: Path, topic: str) -> list[float]:
    from recorder.bag.definitions import typestore

    return [
        typestore().deserialize_cdr(m.data, m.type).position[0]
        for m in read_messages(bag_file(bag))
        if m.topic == topic
    ]


def test_episodes_cancel_and_interruption(
    tmp_path: Path, rig: Rig, recorder: subprocess.Popen[str]
) -> None:
    started = rig.call(StartEpisode, 'start', location='left')
    assert started.success, started.message
    rig.spin(1.0)
    refused = rig.call(StartEpisode, 'start')
    assert not refused.success and 'found it recording' in refused.message
    wrong = rig.call(EndEpisode, 'end', grade='splendid')
    assert (
        not wrong.success
        and "grade 'splendid': expected one of success_first_try" in wrong.message
    )
    ended = rig.call(EndEpisode, 'end', grade='partial', note='slipped')
    assert ended.success, ended.message
    bag = Path(ended.bag)
    assert bag == tmp_path / 'bags/s1/s1_op1_e0000'
    assert content_id(bag) == ended.episode_id
    for topic in ('/joint_states', '/command'):
        values = positions(bag, topic)
        assert len(values) > 50
        assert values == [values[0] + i for i in range(len(values))], f'{topic} has gaps'
    topics = {m.topic: m for m in read_messages(bag_file(bag))}
    assert b'<robot/>\0' in topics['/robot_description'].data
    assert {'/session/clock_offset', '/recorder/status', '/diagnostics'} <= set(topics)
    facts = read_facts(bag_file(bag))
    assert facts['rig'] == RIG
    session = from_json(SessionFacts, facts['session'], 'bag')
    assert (session.operator_id, session.location) == ('op1', 'left')
    episode = from_json(EpisodeFacts, facts['episode'], 'bag')
    assert (episode.grade, episode.note) == ('partial', 'slipped')
    state = next(s for s in episode.streams if s['topic'] == '/joint_states')
    assert (state['lost'], state['unwritten']) == (0, 0)
    assert abs(state['latency_p50_ns']) < 10**9

    assert rig.call(Trigger, 'start_trigger').success
    rig.spin(0.3)
    cancelled = rig.call(Trigger, 'cancel')
    assert cancelled.success
    assert (tmp_path / 'bags/s1/discarded/s1_op1_e0001/metadata.yaml').is_file()

    assert rig.call(Trigger, 'start_trigger').success
    rig.spin(0.3)
    recorder.send_signal(signal.SIGTERM)
    recorder.send_signal(signal.SIGINT)
    output, _ = recorder.communicate(timeout=30)
    assert recorder.returncode == 0, output
    assert 'Traceback' not in output
    interrupted = tmp_path / 'bags/s1/s1_op1_e0002'
    assert len(positions(interrupted, '/command')) > 10
    facts = read_facts(bag_file(interrupted))
    assert from_json(EpisodeFacts, facts['episode'], 'bag').end_reason == 'interrupted'

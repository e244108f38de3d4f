# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A rig of two joint topics and a latched one, published by the test, and its recorder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState, Joy
from std_msgs.msg import String
from std_srvs.srv import Trigger
from teleop_flywheel.srv import EndEpisode

from recorder.bag.definitions import typestore
from recorder.bag.mcap_reader import bag_file, read_messages
from recorder.facts import read_sidecar
from support.live import environment, PATIENCE_S, wait_until
from teleop_bridge.nodes.qos import LATCHED

TEXT = """
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


class TinyRig:
    """Publishes the rig's topics, numbered by the first position, and calls the recorder."""

    def __init__(self, domain: int) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node('tiny_rig', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.description = self.node.create_publisher(String, 'robot_description', LATCHED)
        self.description.publish(String(data='<robot/>'))
        self.state = self.node.create_publisher(
            JointState, 'joint_states', qos_profile_sensor_data
        )
        self.command = self.node.create_publisher(JointState, 'command', 10)
        self.joy = self.node.create_publisher(Joy, 'joy', 10)
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

    def press(self, button: int) -> None:
        """Press and release a button of the gamepad."""
        for down in (1, 0):
            buttons = [0] * 8
            buttons[button] = down
            self.joy.publish(Joy(buttons=buttons))
            self.spin(0.1)

    def call(self, type_: Any, name: str, **fields: str) -> Any:
        """Call a service of the recorder and return its response."""
        client = self.node.create_client(type_, f'recorder/{name}')
        deadline = time.monotonic() + PATIENCE_S
        while not client.service_is_ready():
            assert time.monotonic() < deadline, f'recorder/{name} is not served'
            self.spin(0.05)
        future = client.call_async(type_.Request(**fields))
        self.executor.spin_until_future_complete(future, timeout_sec=2 * PATIENCE_S)
        self.node.destroy_client(client)
        assert future.done(), f'recorder/{name} did not answer'
        return future.result()

    def close(self) -> None:
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def record(self, seconds: float, grade: str = 'partial') -> Path:
        """Record an episode and return its bag, once it is verified."""
        started = self.call(Trigger, 'start_trigger')
        assert started.success, started.message
        self.spin(seconds)
        bag = Path(self.call(EndEpisode, 'end', grade=grade).bag)
        wait_until(
            lambda: read_sidecar(bag)['state'] == 'saved', lambda: self.spin(0.05), f'{bag} saved'
        )
        return bag


def files(bag: Path) -> dict[Path, bytes]:
    """Return every file of a bag, to be compared later."""
    return {path: path.read_bytes() for path in bag.iterdir()}


@contextmanager
def recorder(
    folder: Path,
    domain: int,
    *,
    text: str = TEXT,
    program: Sequence[str] = ('-m', 'recorder.nodes.recorder'),
    **parameters: object,
) -> Iterator[subprocess.Popen[str]]:
    """Run the recorder of that rig into ``folder/bags``; the block may end it itself."""
    (folder / 'rig.yaml').write_text(text)
    values = {
        'rig': folder / 'rig.yaml',
        'output': folder / 'bags',
        'session_id': 's1',
        'operator_id': 'op1',
        'arm_timeout_s': PATIENCE_S,
        'disk_floor_mb': 1,
        **parameters,
    }
    arguments = [word for key, value in values.items() for word in ('-p', f'{key}:={value}')]
    process = subprocess.Popen(
        [sys.executable, *program, '--ros-args', *arguments],
        text=True,
        env=environment(domain),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def numbers(bag: Path, topic: str) -> list[float]:
    """Return the first positions of a topic's messages in a bag."""
    return [
        typestore().deserialize_cdr(m.data, m.type).position[0]
        for m in read_messages(bag_file(bag))
        if m.topic == topic
    ]

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated rig live: real nodes over DDS, a scripted person picks the cube."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.live import new_domain, node, wait_until

rclpy = pytest.importorskip('rclpy', reason='live tests need ROS 2')
if find_spec('mujoco') is None:
    pytest.skip('the simulated rig needs pip install mujoco', allow_module_level=True)

from sensor_msgs.msg import CameraInfo, Image, JointState  # noqa: E402
from std_msgs.msg import Bool, String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from teleop_bridge.nodes.qos import LATCHED, SENSOR  # noqa: E402
from teleop_bridge.resources import data_file  # noqa: E402

NODES = ('sim_rig', 'sim_operator', 'leader', 'follower')


class Watcher:
    """Keeps the last message of each topic."""

    def __init__(self, domain: int) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = rclpy.create_node('watcher', context=self.context)
        self.executor = rclpy.executors.SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.last: dict[str, Any] = {}
        for topic, kind, qos in (
            ('joint_states', JointState, SENSOR),
            ('follower/command', JointState, SENSOR),
            ('camera/wrist/image_raw', Image, SENSOR),
            ('camera/front/camera_info', CameraInfo, SENSOR),
            ('camera/front/depth/image_raw', Image, SENSOR),
            ('robot_description', String, LATCHED),
            ('sim_operator/status', String, LATCHED),
            ('sim/solved', Bool, LATCHED),
        ):
            self.node.create_subscription(
                kind, topic, lambda message, topic=topic: self.last.update({topic: message}), qos
            )

    def spin(self) -> None:
        self.executor.spin_once(timeout_sec=0.1)

    def wait_for(self, topic: str, value: object) -> None:
        def seen() -> bool:
            return topic in self.last and self.last[topic].data == value

        wait_until(seen, self.spin, f'{topic} to be {value}')

    def call(self, service: str) -> Trigger.Response:
        client = self.node.create_client(Trigger, service)
        assert client.wait_for_service(timeout_sec=10.0), service
        future = client.call_async(Trigger.Request())
        wait_until(future.done, self.spin, service)
        return future.result()

    def close(self) -> None:
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.fixture
def watcher(tmp_path: Path) -> Iterator[Watcher]:
    domain = new_domain()
    rig = data_file('config/rigs/so101_sim.yaml')
    with ExitStack() as running:
        for name in NODES:
            log = tmp_path / f'{name}.log'
            running.enter_context(node(f'teleop_bridge.nodes.{name}', domain, log, rig=rig))
        watching = Watcher(domain)
        running.callback(watching.close)
        yield watching


def test_a_person_picks_the_cube_over_dds(watcher: Watcher) -> None:
    wait_until(lambda: len(watcher.last) == 8, watcher.spin, 'every stream of the rig')
    assert watcher.last['sim_operator/status'].data == 'idle'
    image, depth = (
        watcher.last[f'camera/{name}/image_raw'] for name in ('wrist', 'front/depth')
    )
    assert (image.encoding, image.width, image.height) == ('rgb8', 640, 480)
    assert (depth.encoding, depth.header.frame_id) == ('16UC1', 'front_camera_optical_frame')
    assert np.frombuffer(depth.data, np.uint16).max() < 10_000
    assert 'file://' in watcher.last['robot_description'].data
    assert watcher.call('sim/reset').success
    assert watcher.call('sim_operator/begin').success
    watcher.wait_for('sim_operator/status', 'succeeded')
    watcher.wait_for('sim/solved', True)
    assert watcher.call('sim_operator/rest').success
    watcher.wait_for('sim_operator/status', 'idle')

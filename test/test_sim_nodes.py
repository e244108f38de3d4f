# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated rig live: real nodes over DDS, a scripted person picks the cube."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pytest

from support.live import new_domain, node, wait_until

rclpy = pytest.importorskip('rclpy', reason='live tests need ROS 2')
if find_spec('mujoco') is None:
    pytest.skip('the simulated rig needs pip install mujoco', allow_module_level=True)

from sensor_msgs.msg import CameraInfo, Image, JointState  # noqa: E402
from std_msgs.msg import Bool, String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from recorder.bag.definitions import typestore  # noqa: E402
from recorder.headless import Attempt, HeadlessRig, Start  # noqa: E402
from recorder.headless_cameras import headless_variant  # noqa: E402
from teleop_bridge.nodes.convert import to_ns  # noqa: E402
from teleop_bridge.nodes.qos import LATCHED, SENSOR, STREAM  # noqa: E402
from teleop_bridge.resources import data_file  # noqa: E402
from teleop_bridge.rig.loader import load_rig  # noqa: E402
from teleop_bridge.rig.schema import Role, Stream  # noqa: E402
from teleop_bridge.rig.tasks import load_tasks  # noqa: E402

CUBE_XY = (0.2, -0.05)     # sim_rig's default
MOVED_RAD = 0.02           # beyond tremor: the attempt has begun
AGREE_S, AGREE_RAD = 0.5, 0.06  # twenty phases a tick late each; aim from a cube that was seen
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
        self.leader: list[JointState] = []
        self.seen: dict[str, Any] = {}
        self.node.create_subscription(
            JointState, 'leader/joint_states', self.leader.append, STREAM
        )
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
            self.seen[topic] = self.node.create_subscription(
                kind, topic, lambda message, topic=topic: self.last.update({topic: message}), qos
            )

    def ignore(self, *topics: str) -> None:
        for topic in topics:
            self.node.destroy_subscription(self.seen[topic])

    def spin(self) -> None:
        self.executor.spin_once(timeout_sec=0.1)

    def wait_for(self, topic: str, value: object) -> None:
        def seen() -> bool:
            assert self.last[topic].data != 'failed'
            return bool(self.last[topic].data == value)

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
    wait_until(lambda: watcher.leader != [], watcher.spin, 'the operator at the leader')
    image, depth = (
        watcher.last[f'camera/{name}/image_raw'] for name in ('wrist', 'front/depth')
    )
    assert (image.encoding, image.width, image.height) == ('rgb8', 640, 480)
    assert (depth.encoding, depth.header.frame_id) == ('16UC1', 'front_camera_optical_frame')
    assert np.frombuffer(depth.data, np.uint16).max() < 10_000
    assert 'file://' in watcher.last['robot_description'].data
    assert watcher.call('sim/reset').success
    start = watcher.last['joint_states'].position
    watcher.ignore('joint_states', 'follower/command', 'camera/wrist/image_raw')
    watcher.ignore('camera/front/camera_info', 'camera/front/depth/image_raw')
    assert watcher.call('sim_operator/begin').success
    watcher.leader.clear()
    watcher.wait_for('sim_operator/status', 'succeeded')
    live = leader_path([(to_ns(m.header.stamp), m.position) for m in watcher.leader])
    watcher.wait_for('sim/solved', True)
    assert watcher.call('sim_operator/rest').success
    watcher.wait_for('sim_operator/status', 'idle')
    assert_agree(live, headless_path(start))


def leader_path(messages: list[tuple[int, Any]]) -> NDArray[np.float64]:
    """Return seconds since the first movement and the leader's joints, shape (n, 7)."""
    path = np.array([[stamp_ns / 1e9, *position] for stamp_ns, position in messages])
    moving = np.abs(path[:, 1:] - path[0, 1:]).max(axis=1) > MOVED_RAD
    path[:, 0] -= path[np.argmax(moving), 0]
    return path


def headless_path(start: Any) -> NDArray[np.float64]:
    rig = headless_variant(load_rig(data_file('config/rigs/so101_sim.yaml')))
    task = load_tasks(data_file('config/tasks/pick_place.yaml')).task('pick_place')
    messages: list[tuple[int, Any]] = []
    decoder = typestore()

    def keep(stream: Stream, stamp_ns: int, make: Callable[[], bytes]) -> None:
        if stream.role is Role.LEADER:
            leader = decoder.deserialize_cdr(make(), stream.type)
            messages.append((stamp_ns, leader.position))

    attempt = Attempt(0, start=Start(CUBE_XY, 0.0, tuple(start)))
    assert HeadlessRig(rig, task).run(attempt, keep).solved
    return leader_path(messages)


def assert_agree(live: NDArray[np.float64], headless: NDArray[np.float64]) -> None:
    """Every live pose was a headless one at nearly that time; each wait may end one tick later."""
    for row in live[live[:, 0] > 0]:
        near = headless[np.abs(headless[:, 0] - row[0]) < AGREE_S]
        assert len(near), f'live ends at {live[-1, 0]:.2f} s, headless at {headless[-1, 0]:.2f} s'
        assert np.abs(near[:, 1:] - row[1:]).max(axis=1).min() < AGREE_RAD

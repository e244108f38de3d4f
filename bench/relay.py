# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Bare rclpy nodes over the same hops as leader and follower: the least that ROS costs.

Run as: relay.py leader, relay.py follower RATE_HZ, or relay.py timer RATE_HZ OUTPUT.npy
(a timer that only writes down when it ran).
"""

from __future__ import annotations

import sys
import time

import numpy as np
import rclpy
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState


def leader() -> None:
    """Pass every message on."""
    node = rclpy.create_node('bare_leader')
    publisher = node.create_publisher(JointState, 'bare/hand', 50)
    node.create_subscription(
        JointState, 'leader/joint_states', publisher.publish, qos_profile_sensor_data
    )
    rclpy.spin(node)


def follower(rate_hz: float) -> None:
    """Pass the latest message on at a rate."""
    node = rclpy.create_node('bare_follower')
    publisher = node.create_publisher(JointState, 'bare/command', 50)
    latest: list[JointState] = []

    def take(message: JointState) -> None:
        latest[:] = [message]

    node.create_subscription(JointState, 'bare/hand', take, qos_profile_sensor_data)
    node.create_timer(1.0 / rate_hz, lambda: latest and publisher.publish(latest[0]))
    rclpy.spin(node)


def timer(rate_hz: float, output: str) -> None:
    """Write down when a timer ran, monotonic ns, until it is interrupted."""
    node = rclpy.create_node('bare_timer')
    runs: list[int] = []
    node.create_timer(1.0 / rate_hz, lambda: runs.append(time.monotonic_ns()))
    try:
        rclpy.spin(node)
    finally:
        np.save(output, runs)


def main() -> None:
    """Run the part that is asked for."""
    rclpy.init()
    part, *arguments = sys.argv[1:]
    try:
        if part == 'leader':
            leader()
        elif part == 'follower':
            follower(float(arguments[0]))
        else:
            timer(float(arguments[0]), arguments[1])
    except (KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        pass


if __name__ == '__main__':
    main()

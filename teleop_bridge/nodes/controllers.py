# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Ask ros2_control whether a controller is there and active."""

from __future__ import annotations

import rclpy
from rclpy.node import Node

from teleop_bridge.exceptions import DeviceError, MissingDependencyError

_PATIENCE_S = 10.0


def require_active(node: Node, controller: str, *, manager: str) -> None:
    """Check a controller before anything is sent to it; call it before the node spins.

    Raises DeviceError where it is not active, as commands to it would vanish, and where its
    manager does not answer.
    """
    try:
        from controller_manager_msgs.srv import ListControllers
    except ImportError as error:
        raise MissingDependencyError(
            f"controller '{controller}' can't be checked without controller_manager_msgs: "
            'apt install ros-jazzy-controller-manager-msgs'
        ) from error
    service = f'{manager}/list_controllers'
    client = node.create_client(ListControllers, service)
    try:
        if not client.wait_for_service(_PATIENCE_S):
            raise DeviceError(f"controller '{controller}': {service} is not served")
        future = client.call_async(ListControllers.Request())
        rclpy.spin_until_future_complete(node, future, timeout_sec=_PATIENCE_S)
        if not future.done():
            raise DeviceError(f"controller '{controller}': {service} did not answer")
        states = {entry.name: entry.state for entry in future.result().controller}
    finally:
        node.destroy_client(client)
    if states.get(controller) != 'active':
        loaded = ', '.join(states) or 'none'
        found = states.get(controller, f'none of that name (loaded: {loaded})')
        raise DeviceError(f"controller '{controller}': expected it active, found {found}")

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters that say what they are and what they may be."""

from __future__ import annotations

from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node


def declare(
    node: Node,
    name: str,
    default: Any,
    description: str,
    *,
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """Declare a parameter with its descriptor and return its value; bounds are inclusive.

    It is read-only: our nodes build their cores from parameters once.
    """
    descriptor = ParameterDescriptor(description=description, read_only=True)
    if low is not None and high is not None:
        if isinstance(default, float):
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        else:
            bounds = IntegerRange(from_value=int(low), to_value=int(high), step=1)
            descriptor.integer_range = [bounds]
    return node.declare_parameter(name, default, descriptor).value


def declare_rig(node: Node) -> str:
    """Declare the parameter that every node of a rig has and return the rig file's path."""
    path: str = declare(node, 'rig', '', "path of the rig's YAML file")
    return path

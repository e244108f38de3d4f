# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Sensor messages as the arrays that policies look at."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import PoseStamped, WrenchStamped
import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CompressedImage, Image, JointState

from teleop_bridge.exceptions import RigError
from teleop_bridge.nodes.pictures import make_pictures

_TYPES = {
    'geometry_msgs/msg/PoseStamped': PoseStamped,
    'geometry_msgs/msg/WrenchStamped': WrenchStamped,
    'sensor_msgs/msg/CompressedImage': CompressedImage,
    'sensor_msgs/msg/Image': Image,
    'sensor_msgs/msg/JointState': JointState,
}
_PICTURES = make_pictures()


def message_type(name: str) -> type:
    """Return the class of a type that a policy can look at; raises RigError for others."""
    if name not in _TYPES:
        raise RigError(f"a policy's input: expected one of {', '.join(_TYPES)}, found {name}")
    return _TYPES[name]


def to_value(message: Any) -> NDArray[Any]:
    """Return images as (height, width, 3) uint8 RGB, others as vectors (d,) float64.

    A pose is x, y, z, qx, qy, qz, qw; a wrench is force, then torque; joints give their efforts.
    Raises FlywheelError for an image in another encoding.
    """
    if isinstance(message, (Image, CompressedImage)):
        return _PICTURES.rgb(message)
    if isinstance(message, PoseStamped):
        p, q = message.pose.position, message.pose.orientation
        return np.array([p.x, p.y, p.z, q.x, q.y, q.z, q.w])
    if isinstance(message, WrenchStamped):
        f, t = message.wrench.force, message.wrench.torque
        return np.array([f.x, f.y, f.z, t.x, t.y, t.z])
    return np.array(message.effort, dtype=np.float64)

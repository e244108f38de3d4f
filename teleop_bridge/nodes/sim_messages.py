# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated rig's quantities as ROS messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TransformStamped, WrenchStamped
import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, JointState

from teleop_bridge.sim.rig import ArmState, Pose
from teleop_bridge.sim.scene import CameraModel, HEIGHT, JOINTS, ROOT_FRAME, WIDTH


def joint_state(state: ArmState, stamp: Time) -> JointState:
    """Return measured joints with velocities and efforts."""
    message = JointState(
        name=list(JOINTS),
        position=state.positions.tolist(),
        velocity=state.velocities.tolist(),
        effort=state.efforts.tolist(),
    )
    message.header.stamp = stamp
    return message


def load_state(torque: float, stamp: Time) -> JointState:
    """Return the gripper's load as the effort of its joint."""
    message = JointState(name=[JOINTS[-1]], effort=[torque])
    message.header.stamp = stamp
    return message


def wrench_stamped(wrench: NDArray[np.float64], stamp: Time) -> WrenchStamped:
    """Return the wrench at the wrist, in the gripper's frame."""
    message = WrenchStamped()
    message.header.stamp = stamp
    message.header.frame_id = 'gripper_link'
    force, torque = message.wrench.force, message.wrench.torque
    force.x, force.y, force.z, torque.x, torque.y, torque.z = wrench.tolist()
    return message


def pose_stamped(pose: Pose, stamp: Time) -> PoseStamped:
    """Return a pose in the base frame."""
    message = PoseStamped()
    message.header.stamp = stamp
    message.header.frame_id = ROOT_FRAME
    at, turn = message.pose.position, message.pose.orientation
    at.x, at.y, at.z = pose.xyz.tolist()
    turn.w, turn.x, turn.y, turn.z = pose.quat.tolist()
    return message


def transform(parent: str, child: str, pose: Pose, stamp: Time) -> TransformStamped:
    """Return one frame's pose in its parent."""
    message = TransformStamped(child_frame_id=child)
    message.header.stamp = stamp
    message.header.frame_id = parent
    shift, turn = message.transform.translation, message.transform.rotation
    shift.x, shift.y, shift.z = pose.xyz.tolist()
    turn.w, turn.x, turn.y, turn.z = pose.quat.tolist()
    return message


def link_transforms(poses: Mapping[str, Pose], stamp: Time) -> list[TransformStamped]:
    """Return every link's pose in the root frame."""
    return [
        transform(ROOT_FRAME, name, pose, stamp)
        for name, pose in poses.items()
        if name != ROOT_FRAME
    ]


def camera_info(camera: CameraModel, stamp: Time) -> CameraInfo:
    """Return a pinhole camera without distortion."""
    matrix = camera.intrinsics()
    message = CameraInfo(
        width=WIDTH,
        height=HEIGHT,
        distortion_model='plumb_bob',
        d=[0.0] * 5,
        k=matrix.ravel(),
        r=np.eye(3).ravel(),
        p=np.hstack([matrix, np.zeros((3, 1))]).ravel(),
    )
    message.header.stamp = stamp
    message.header.frame_id = camera.frame_id
    return message


def tf_message_type() -> Any | None:
    """Return tf2_msgs' TFMessage; None where it is not installed."""
    try:
        from tf2_msgs.msg import TFMessage
    except ImportError:
        return None
    return TFMessage

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""CDR bytes of the messages that a rig carries, made without a middleware, for the headless rig.

Stamps are integer nanoseconds of the session, vectors numpy arrays in SI units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recorder.bag.definitions import typestore
from teleop_bridge.clock import NANOSECONDS

JOINT_STATE = 'sensor_msgs/msg/JointState'
IMAGE = 'sensor_msgs/msg/Image'
COMPRESSED_IMAGE = 'sensor_msgs/msg/CompressedImage'
CAMERA_INFO = 'sensor_msgs/msg/CameraInfo'
WRENCH = 'geometry_msgs/msg/WrenchStamped'
POSE = 'geometry_msgs/msg/PoseStamped'
STRING = 'std_msgs/msg/String'
INT64 = 'std_msgs/msg/Int64'
AUTHORITY = 'teleop_flywheel/msg/Authority'
INTERVENTION = 'teleop_flywheel/msg/Intervention'
STATUS = 'teleop_flywheel/msg/EpisodeStatus'

_EMPTY = np.zeros(0)


def _new(type_: str, **fields: Any) -> Any:
    return typestore().types[type_](**fields)


def _bytes(type_: str, message: Any) -> bytes:
    return bytes(typestore().serialize_cdr(message, type_))


def _time(stamp_ns: int) -> Any:
    sec, nanosec = divmod(stamp_ns, NANOSECONDS)
    return _new('builtin_interfaces/msg/Time', sec=sec, nanosec=nanosec)


def _header(stamp_ns: int, frame_id: str = '') -> Any:
    return _new('std_msgs/msg/Header', stamp=_time(stamp_ns), frame_id=frame_id)


def _vector(xyz: ArrayLike) -> Any:
    x, y, z = (float(value) for value in np.asarray(xyz))
    return _new('geometry_msgs/msg/Vector3', x=x, y=y, z=z)


def joint_state(
    stamp_ns: int,
    names: Sequence[str],
    positions: ArrayLike,
    velocities: ArrayLike = (),
    efforts: ArrayLike = (),
) -> bytes:
    """Serialise a JointState: rad or m, per second, N m or N; each empty or one per name."""
    return _bytes(
        JOINT_STATE,
        _new(
            JOINT_STATE,
            header=_header(stamp_ns),
            name=list(names),
            position=np.asarray(positions, np.float64),
            velocity=np.asarray(velocities, np.float64),
            effort=np.asarray(efforts, np.float64),
        ),
    )


def image(stamp_ns: int, pixels: NDArray[Any], *, encoding: str, frame_id: str = '') -> bytes:
    """Serialise an Image from pixels (height, width[, channels]), little endian."""
    pixels = np.ascontiguousarray(pixels)
    return _bytes(
        IMAGE,
        _new(
            IMAGE,
            header=_header(stamp_ns, frame_id),
            height=pixels.shape[0],
            width=pixels.shape[1],
            encoding=encoding,
            is_bigendian=0,
            step=pixels.strides[0],
            data=pixels.view(np.uint8).reshape(-1),
        ),
    )


def camera_info(
    stamp_ns: int, *, width: int, height: int, matrix: ArrayLike, frame_id: str = ''
) -> bytes:
    """Serialise an ideal pinhole camera's CameraInfo; ``matrix`` K is (3, 3), pixels."""
    k = np.asarray(matrix, np.float64).reshape(3, 3)
    region = _new(
        'sensor_msgs/msg/RegionOfInterest',
        x_offset=0,
        y_offset=0,
        height=0,
        width=0,
        do_rectify=False,
    )
    return _bytes(
        CAMERA_INFO,
        _new(
            CAMERA_INFO,
            header=_header(stamp_ns, frame_id),
            height=height,
            width=width,
            distortion_model='plumb_bob',
            d=np.zeros(5),
            k=k.reshape(-1),
            r=np.eye(3).reshape(-1),
            p=np.hstack([k, np.zeros((3, 1))]).reshape(-1),
            binning_x=0,
            binning_y=0,
            roi=region,
        ),
    )


def wrench(stamp_ns: int, force_torque: ArrayLike, *, frame_id: str = '') -> bytes:
    """Serialise a WrenchStamped from (6,): force, N, then torque, N m."""
    values = np.asarray(force_torque, np.float64)
    both = _new('geometry_msgs/msg/Wrench', force=_vector(values[:3]), torque=_vector(values[3:]))
    return _bytes(WRENCH, _new(WRENCH, header=_header(stamp_ns, frame_id), wrench=both))


def pose(stamp_ns: int, xyz: ArrayLike, wxyz: ArrayLike, *, frame_id: str = '') -> bytes:
    """Serialise a PoseStamped from a position, m, (3,) and a rotation (w, x, y, z)."""
    x, y, z = (float(value) for value in np.asarray(xyz))
    qw, qx, qy, qz = (float(value) for value in np.asarray(wxyz))
    point = _new('geometry_msgs/msg/Point', x=x, y=y, z=z)
    rotation = _new('geometry_msgs/msg/Quaternion', x=qx, y=qy, z=qz, w=qw)
    both = _new('geometry_msgs/msg/Pose', position=point, orientation=rotation)
    return _bytes(POSE, _new(POSE, header=_header(stamp_ns, frame_id), pose=both))


def authority(stamp_ns: int, **fields: Any) -> bytes:
    """Serialise an Authority; fields that are not given are zero or empty."""
    return _bytes(AUTHORITY, _flat(AUTHORITY, stamp_ns, fields))


def intervention(stamp_ns: int, *, pre_window_ns: int, **fields: Any) -> bytes:
    """Serialise an Intervention; fields that are not given are zero or empty."""
    sec, nanosec = divmod(pre_window_ns, NANOSECONDS)
    window = _new('builtin_interfaces/msg/Duration', sec=sec, nanosec=nanosec)
    return _bytes(INTERVENTION, _flat(INTERVENTION, stamp_ns, {**fields, 'pre_window': window}))


def status(stamp_ns: int, **fields: Any) -> bytes:
    """Serialise an EpisodeStatus; fields that are not given are zero or empty."""
    return _bytes(STATUS, _flat(STATUS, stamp_ns, fields))


def _flat(type_: str, stamp_ns: int, fields: Mapping[str, Any]) -> Any:
    """Return a message of a header and plain fields."""
    _, definitions = typestore().fielddefs[type_]
    zeros = {'string': '', 'bool': False, 'float64': 0.0}
    values = {name: zeros.get(base[0], 0) for name, (_, base) in definitions}
    return _new(type_, **{**values, 'header': _header(stamp_ns), **fields})


def text(value: str) -> bytes:
    """Serialise a String."""
    return _bytes(STRING, _new(STRING, data=value))


def integer(value: int) -> bytes:
    """Serialise an Int64."""
    return _bytes(INT64, _new(INT64, data=value))

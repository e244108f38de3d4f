# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Named numbers out of messages that carry no joints: wrenches, poses, authority, flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from curation.bag.decoder import Decoder
from curation.exceptions import DecodeError
from teleop_bridge.rig.schema import Role

Row = tuple[tuple[float, ...], str]
Reader = tuple[tuple[str, ...], Callable[[Any], Row]]
VALUE_ROLES = (
    Role.WRENCH,
    Role.POSE,
    Role.AUTHORITY,
    Role.IK_VALIDITY,
    Role.CAMERA_INFO,
)
_INTRINSICS = ('fx', 'fy', 'cx', 'cy')


def value_reader(decoder: Decoder, role: Role) -> Reader:
    """Return the names of a role's values and what takes them out of a decoded message.

    Wrench: force, N, and torque, N m. Pose: position, m, and quaternion x, y, z, w. Camera info:
    intrinsics, pixels, with the distortion as text. Raises DecodeError where the type does not
    carry them.
    """
    fields = set(decoder.fields)
    if role is Role.WRENCH and fields & {'wrench', 'force'}:
        return ('fx', 'fy', 'fz', 'tx', 'ty', 'tz'), _wrench
    if role is Role.POSE and fields & {'pose', 'transform', 'position'}:
        return ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw'), _pose
    if role is Role.AUTHORITY and {'weight', 'phase', 'intervention_id'} <= fields:
        return ('weight', 'phase'), _authority
    if role is Role.CAMERA_INFO and 'k' in fields:
        return _INTRINSICS, lambda message: (
            tuple(float(message.k[i]) for i in (0, 4, 2, 5)),
            ' '.join(f'{value:g}' for value in getattr(message, 'd', ())),
        )
    if role is Role.IK_VALIDITY and fields & {'data', 'valid'}:
        return ('valid',), lambda message: (
            (float(getattr(message, 'data', getattr(message, 'valid', 0))),),
            '',
        )
    raise DecodeError(f'{decoder.topic}: {decoder.type} does not fit the role {role.value}')


def _wrench(message: Any) -> Row:
    wrench = getattr(message, 'wrench', message)
    wrench = getattr(wrench, 'wrench', wrench)
    force, torque = wrench.force, wrench.torque
    return (force.x, force.y, force.z, torque.x, torque.y, torque.z), ''


def _pose(message: Any) -> Row:
    pose = getattr(message, 'pose', getattr(message, 'transform', message))
    pose = getattr(pose, 'pose', pose)
    place = getattr(pose, 'position', getattr(pose, 'translation', None))
    turn = getattr(pose, 'orientation', getattr(pose, 'rotation', None))
    if place is None or turn is None:
        raise DecodeError('a pose has no position and orientation')
    return (place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w), ''


def _authority(message: Any) -> Row:
    return (message.weight, float(message.phase)), message.intervention_id

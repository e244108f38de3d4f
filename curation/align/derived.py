# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Streams that no driver sends, computed on load: tip poses, velocities, relative actions.

Each is a function of what is at or before the grid time, and NaN where that is.
"""

from __future__ import annotations

from collections.abc import Sequence
import importlib
from typing import Any

import numpy as np

from curation.align.episode import Signal, Values
from curation.align.merge import Merged, Source
from curation.align.series import Series
from curation.exceptions import StreamError
from teleop_bridge.exceptions import MissingDependencyError, RigError
from teleop_bridge.rig.schema import Rig
from teleop_bridge.rig.urdf import urdf_file

POSE = ('x', 'y', 'z', 'qx', 'qy', 'qz', 'qw')


def velocities(merged: Merged, several: Sequence[Series]) -> Merged:
    """Return a role's joint velocities as sources to sample, per s.

    Where a driver gives none, the difference to the message before over the time since; NaN at the
    first.
    """
    given = _given(merged, several)
    return given or Merged(merged.names, tuple(_differences(s) for s in merged.sources))


def _given(merged: Merged, several: Sequence[Series]) -> Merged | None:
    """Return the velocities of the one stream whose driver gives them all."""
    if len(several) != 1 or len(merged.sources) != 1 or several[0].joints is None:
        return None
    joints, (source,) = several[0].joints, merged.sources
    columns = [joints.names.index(name) for name in merged.names if name in joints.names]
    order = np.argsort(several[0].stamps_ns, kind='stable')
    values = joints.velocities[order][:, columns]
    fits = len(columns) == len(merged.names) and len(values) == len(source.stamps_ns)
    if not fits or not np.isfinite(values).all():
        return None
    return Merged(
        merged.names,
        (Source(source.stream, source.max_age_ns, source.columns, source.stamps_ns, values),),
    )


def _differences(source: Source) -> Source:
    speeds = np.full(source.values.shape, np.nan)
    step = np.diff(source.stamps_ns)[:, None] / 1e9
    with np.errstate(divide='ignore', invalid='ignore'):
        speeds[1:] = np.where(step > 0, np.diff(source.values, axis=0) / step, np.nan)
    return Source(source.stream, source.max_age_ns, source.columns, source.stamps_ns, speeds)


def relative(action: Signal, state: Signal) -> Signal:
    """Return the action less the state at the same grid time, joint by joint; StreamError."""
    if action.names != state.names:
        raise StreamError('a relative action needs the joints of the state in the action')
    return Signal(
        action.names,
        action.values - state.values,
        np.maximum(action.staleness_ns, state.staleness_ns),
        action.valid & state.valid,
    )


def tip_pose(rig: Rig, frame: str, joints: Signal) -> Signal:
    """Return a URDF frame's pose in its base: position, m, unit quaternion x, y, z, w (m, 7).

    By pinocchio; of the two quaternions of an orientation the nearer to the one before. Raises
    RigError where the URDF lacks a joint or the frame, MissingDependencyError without pinocchio.
    """
    try:
        pin: Any = importlib.import_module('pinocchio')
    except ImportError as error:
        raise MissingDependencyError(
            'tip poses need pinocchio: pip install pin, or rosdep install pinocchio'
        ) from error
    path = urdf_file(rig)
    model = pin.buildModelFromUrdf(str(path))
    if lost := [name for name in joints.names if not model.existJointName(name)]:
        raise RigError(f"{path}: joint '{lost[0]}' of {rig.path} is not in it")
    if not model.existFrame(frame):
        known = ', '.join(found.name for found in model.frames)
        raise RigError(f"{path}: no frame '{frame}' (frames: {known})")
    ids = [model.getJointId(name) for name in joints.names]
    values = _places(pin, model, frame, [model.joints[i] for i in ids], joints)
    stale = joints.staleness_ns.max(axis=1, initial=0)
    return Signal(POSE, values, np.tile(stale[:, None], (1, len(POSE))), joints.valid)


def _places(pin: Any, model: Any, frame: str, parts: Sequence[Any], joints: Signal) -> Values:
    data, number = model.createData(), model.getFrameId(frame)
    places = np.full((len(joints.values), len(POSE)), np.nan)
    full = pin.neutral(model)
    last: Values | None = None
    for i in np.flatnonzero(np.isfinite(joints.values).all(axis=1)).tolist():
        for part, angle in zip(parts, joints.values[i].tolist(), strict=True):
            if part.nq == 1:
                full[part.idx_q] = angle
            else:  # a continuous joint is a point on the unit circle
                full[part.idx_q], full[part.idx_q + 1] = np.cos(angle), np.sin(angle)
        pin.framesForwardKinematics(model, data, full)
        place = data.oMf[number]
        turn = pin.Quaternion(place.rotation).coeffs()
        if last is not None and last @ turn < 0:
            turn = -turn
        last = turn
        places[i] = np.concatenate([place.translation, turn])
    return places

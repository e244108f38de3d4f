# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the gripper did: when it closed and opened, and how often it had to try."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.rig.schema import JointKind, Rig

LEAST_TRAVEL = 0.15  # rad or m: a gripper that moved less did nothing
CLOSED_BELOW = 0.35  # of its travel in this episode
OPEN_ABOVE = 0.65


def gripper_index(rig: Rig) -> int | None:
    """Return the gripper's place in the joint vector, None where the rig has none."""
    kinds = [joint.kind for joint in rig.joints]
    return kinds.index(JointKind.GRIPPER) if JointKind.GRIPPER in kinds else None


def closings(opening: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices where a gripper closed and where it opened, for its opening (m,)."""
    low, high = float(np.nanmin(opening)), float(np.nanmax(opening))
    if high - low < LEAST_TRAVEL:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    travel = (opening - low) / (high - low)
    closed: list[int] = []
    opened: list[int] = []
    is_open: bool | None = None
    for index, share in enumerate(travel):
        if share > OPEN_ABOVE and is_open is not True:
            if is_open is False:
                opened.append(index)
            is_open = True
        elif share < CLOSED_BELOW and is_open is not False:
            if is_open is True:
                closed.append(index)
            is_open = False
    return np.array(closed, np.int64), np.array(opened, np.int64)

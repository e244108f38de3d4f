# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The leader that a scripted operator holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.joints import JointSample
from teleop_bridge.rig.schema import Rig


def leader_sample(rig: Rig, wanted: NDArray[np.float64], stamp_ns: int) -> JointSample:
    """Return the leader's joints that the rig's mapping turns into the wanted follower joints.

    ``wanted`` has shape (n,), in the rig's order.
    """
    rows = {row.joint: row for row in rig.mapping}
    leader = []
    for joint, position in zip(rig.joint_names, wanted, strict=True):
        row = rows[joint]
        leader.append((position - row.offset) / (row.sign * row.scale))
    sources = tuple(rows[joint].source for joint in rig.joint_names)
    return JointSample(sources, np.array(leader), stamp_ns)

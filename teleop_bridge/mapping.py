# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The leader's joints as follower joints, by the rig's mapping table."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from teleop_bridge.exceptions import RigError
from teleop_bridge.joints import JointSample, select_joints
from teleop_bridge.rig.schema import Rig


class LeaderMapping:
    """follower = sign * scale * leader + offset, joint by joint, by name.

    A joint that wraps is unwrapped against the previous sample: its leader's angle may pass +-pi
    without the follower turning back.
    """

    def __init__(self, rig: Rig) -> None:
        if not rig.mapping:
            raise RigError(f'{rig.path}: leader.mapping: required to drive this rig by a leader')
        rows = {row.joint: row for row in rig.mapping}
        self._names = rig.joint_names
        self._rows = tuple(rows[name] for name in self._names)
        self._sources = tuple(row.source for row in self._rows)
        self._strict = rig.strict_joints
        self._unwrapped: dict[str, float] = {}

    def map(self, names: Sequence[str], positions: Sequence[float], stamp_ns: int) -> JointSample:
        """Map one leader message; raises JointError, naming the joint."""
        picked = select_joints(self._sources, names, positions, strict=self._strict)
        values = []
        for row in self._rows:
            angle = (
                self._unwrap(row.source, picked[row.source]) if row.wrap else picked[row.source]
            )
            values.append(row.sign * row.scale * angle + row.offset)
        return JointSample(self._names, np.array(values), stamp_ns)

    def inverse(self, positions: Sequence[float]) -> dict[str, float]:
        """Return the leader's joints at which it would propose these follower positions.

        ``positions`` are in the rig's order. A joint that wraps is brought within pi of zero.
        """
        joints = {}
        for row, position in zip(self._rows, positions, strict=True):
            angle = (position - row.offset) / (row.sign * row.scale)
            joints[row.source] = math.remainder(angle, math.tau) if row.wrap else angle
        return joints

    def reset(self) -> None:
        """Forget the turns counted so far, as after the leader was unplugged."""
        self._unwrapped.clear()

    def _unwrap(self, source: str, angle: float) -> float:
        last = self._unwrapped.get(source, angle)
        unwrapped = angle + math.tau * round((last - angle) / math.tau)
        self._unwrapped[source] = unwrapped
        return unwrapped

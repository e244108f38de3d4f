# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A Cartesian device as joint proposals: clutch, motion, inverse kinematics, gripper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.cartesian.clutch import Clutch, Grip
from teleop_bridge.cartesian.ik import DifferentialIk, Pose, Validity
from teleop_bridge.joints import JointSample
from teleop_bridge.rig.schema import JointKind, Rig

Vector = NDArray[np.float64]


class CartesianHand:
    """Turns twists or hand poses into joint positions, from where the follower is.

    While the clutch is open the proposal stays; each time it closes, the proposal starts at the
    follower's measured joints, so that the hand never moves it by closing the clutch.
    ``max_speed`` (m/s) and ``max_turn`` (rad/s) bound what one period may ask for.
    """

    def __init__(
        self,
        rig: Rig,
        ik: DifferentialIk,
        clutch: Clutch,
        *,
        max_speed: float = 0.3,
        max_turn: float = 1.5,
        gripper_speed: float = 2.0,
    ) -> None:
        self._names = rig.joint_names
        self._ik = ik
        self._clutch = clutch
        self._bounds = max_speed, max_turn
        self._gripper_speed = gripper_speed
        self._grippers = [i for i, j in enumerate(rig.joints) if j.kind is JointKind.GRIPPER]
        self._lower = np.array([joint.lower for joint in rig.joints])
        self._upper = np.array([joint.upper for joint in rig.joints])
        self._measured: Vector | None = None
        self._positions: Vector | None = None
        self._twist = np.zeros(6)
        self._hand: Pose | None = None
        self._anchor: tuple[Pose, Pose] | None = None  # hand and tip where the clutch closed
        self._gripper = 0.0
        self._stamp_ns = 0
        self._held = False

    def measured(self, sample: JointSample) -> None:
        """Take the follower's measured joints, in the rig's order."""
        self._measured = sample.positions

    def twist(
        self, twist: Vector, *, clutch: bool, gripper: float, stamp_ns: int, now_ns: int
    ) -> None:
        """Take a device's velocity (6,): m/s, then rad/s, in the base frame's axes.

        ``gripper`` is how fast to open (1) or close (-1); ``stamp_ns`` is when the hand did so.
        """
        self._clutch.update(clutch, now_ns)
        self._twist, self._hand, self._gripper, self._stamp_ns = twist, None, gripper, stamp_ns

    def pose(
        self, pose: Pose, *, clutch: bool, gripper: float, stamp_ns: int, now_ns: int
    ) -> None:
        """Take a tracked hand's pose; the tip moves as the hand did since the clutch closed."""
        self._clutch.update(clutch, now_ns)
        self._hand, self._gripper, self._stamp_ns = pose, gripper, stamp_ns

    def step(self, now_ns: int, dt_s: float) -> tuple[JointSample, Validity] | None:
        """Return the proposal of this period; None while the device is silent."""
        grip = self._clutch.grip(now_ns)
        if grip is Grip.SILENT or self._measured is None:
            self._held = False
            return None
        held = grip is Grip.HELD
        if self._positions is None or (held and not self._held):
            self._positions = self._measured
            self._anchor = None
        self._held = held
        motion = self._motion(dt_s) if held else np.zeros(6)
        positions, validity = self._ik.move(self._positions, motion)
        if held:
            positions = self._move_gripper(positions, dt_s)
        self._positions = positions
        # A hand at rest is where it is now; one that moves was there when its device said so.
        stamp_ns = self._stamp_ns if held else now_ns
        return JointSample(self._names, positions, stamp_ns), validity

    def _motion(self, dt_s: float) -> Vector:
        assert self._positions is not None
        motion = self._twist * dt_s if self._hand is None else self._follow(self._hand)
        for part, bound in zip((slice(0, 3), slice(3, 6)), self._bounds, strict=True):
            size = np.linalg.norm(motion[part])
            if size > bound * dt_s:
                motion[part] *= bound * dt_s / size
        return motion

    def _follow(self, hand: Pose) -> Vector:
        assert self._positions is not None
        tip = self._ik.pose(self._positions)
        if self._anchor is None:
            self._anchor = hand, tip
        hand_then, tip_then = self._anchor
        turn = hand.rotation @ hand_then.rotation.T
        return self._ik.difference(
            tip,
            Pose(tip_then.position + hand.position - hand_then.position, turn @ tip_then.rotation),
        )

    def _move_gripper(self, positions: Vector, dt_s: float) -> Vector:
        positions = positions.copy()
        for i in self._grippers:
            goal = positions[i] + self._gripper * self._gripper_speed * dt_s
            positions[i] = np.clip(goal, self._lower[i], self._upper[i])
        return positions

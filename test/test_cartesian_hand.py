# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Cartesian devices: inverse kinematics inside limits, clutch, silence, and validity."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('pinocchio', reason='pinocchio (pip install pin) is not installed')

from teleop_bridge.cartesian.clutch import Clutch, Grip
from teleop_bridge.cartesian.hand import CartesianHand
from teleop_bridge.cartesian.ik import DifferentialIk, Pose
from teleop_bridge.exceptions import RigError
from teleop_bridge.joints import JointSample
from teleop_bridge.rig.loader import parse_rig
from teleop_bridge.rig.schema import Rig

MS = 1_000_000
AXES = {'j1': '0 0 1', 'j2': '0 1 0', 'j3': '0 1 0', 'j4': '0 1 0', 'j5': '1 0 0', 'j6': '0 0 1'}
HOME = np.array([0.1, -0.6, 1.1, -0.4, 0.2, 0.1, 0.5])


def urdf() -> str:
    """A six-joint arm of 0.25 m links with a gripper."""
    parts = ['<robot name="arm"><link name="base"/>']
    parent = 'base'
    for name, axis in {**AXES, 'grip': '0 0 1'}.items():
        parts.append(
            f'<joint name="{name}" type="revolute">'
            f'<parent link="{parent}"/><child link="{name}_link"/>'
            f'<origin xyz="0.25 0 0.05"/><axis xyz="{axis}"/>'
            f'<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
            f'<link name="{name}_link"/>'
        )
        parent = f'{name}_link' if name != 'j6' else 'j6_link'
    return ''.join(parts) + '</robot>'


@pytest.fixture
def rig() -> Rig:
    joints = '\n'.join(f'  {name}: {{lower: -2, upper: 2}}' for name in AXES)
    return parse_rig(f"""
rig: arm
joints:
{joints}
  grip: {{lower: 0, upper: 1, kind: gripper}}
streams:
  state: {{topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}}
""")


@pytest.fixture
def ik(rig: Rig, tmp_path: Path) -> DifferentialIk:
    path = tmp_path / 'arm.urdf'
    path.write_text(urdf())
    return DifferentialIk(rig, urdf=path, tip_frame='j6_link')


def test_the_tip_moves_as_asked_and_the_gripper_stays(ik: DifferentialIk) -> None:
    motion = np.array([0.002, -0.001, 0.0015, 0.002, 0.001, -0.003])
    moved, validity = ik.move(HOME, motion)
    made = ik.difference(ik.pose(HOME), ik.pose(moved))
    assert made == pytest.approx(motion, abs=3e-5)
    assert moved[-1] == HOME[-1]
    assert validity.residual < 0.01
    assert validity.manipulability > 0.01


def test_joint_limits_hold_and_show(ik: DifferentialIk) -> None:
    positions = HOME
    for _ in range(400):
        positions, validity = ik.move(positions, np.array([0, 0, 0, 0, 0, 0.02]))
    assert np.abs(positions).max() <= 2
    assert validity.residual > 0.3
    assert validity.limit_margin < 0.05


def test_a_singularity_is_passed_without_a_jump_and_shows(ik: DifferentialIk) -> None:
    stretched = np.zeros(7)
    moved, validity = ik.move(stretched, np.array([0.003, 0, 0, 0, 0, 0]))
    assert np.abs(moved - stretched).max() < 0.1
    assert validity.manipulability < 1e-6
    assert validity.residual > 0.9


def test_a_frame_that_is_not_there_is_named(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / 'arm.urdf'
    path.write_text(urdf())
    with pytest.raises(RigError, match="no frame 'claw'"):
        DifferentialIk(rig, urdf=path, tip_frame='claw')


class Device:
    """A hand over a follower that stays where it was measured."""

    def __init__(self, rig: Rig, ik: DifferentialIk) -> None:
        self.hand = CartesianHand(rig, ik, Clutch(timeout_ns=100 * MS))
        self.now = 1_000 * MS
        self.hand.measured(JointSample(rig.joint_names, HOME, self.now))
        self.twist(0.0, clutch=False)

    def twist(self, x: float, *, clutch: bool, gripper: float = 0.0) -> None:
        self.now += 10 * MS
        twist = np.array([x, 0, 0, 0, 0, 0])
        self.hand.twist(twist, clutch=clutch, gripper=gripper, stamp_ns=self.now, now_ns=self.now)

    def step(self) -> np.ndarray:
        sample, _ = self.hand.step(self.now, 0.01)
        return sample.positions


def test_only_a_held_clutch_moves_the_arm(rig: Rig, ik: DifferentialIk) -> None:
    device = Device(rig, ik)
    device.twist(0.2, clutch=False)
    assert device.step() == pytest.approx(HOME)
    start = ik.pose(HOME).position
    for _ in range(20):
        device.twist(0.2, clutch=True)
        positions = device.step()
    assert ik.pose(positions).position - start == pytest.approx([0.04, 0, 0], abs=1e-3)
    device.twist(0.2, clutch=False)
    assert device.step() == pytest.approx(positions)


def test_each_closing_starts_where_the_follower_is(rig: Rig, ik: DifferentialIk) -> None:
    device = Device(rig, ik)
    elsewhere = HOME + 0.1
    device.hand.measured(JointSample(rig.joint_names, elsewhere, device.now))
    device.twist(0.0, clutch=True)
    assert device.step() == pytest.approx(elsewhere)


def test_a_device_that_stops_is_a_release_and_must_be_gripped_anew(
    rig: Rig, ik: DifferentialIk
) -> None:
    device = Device(rig, ik)
    device.twist(0.2, clutch=True)
    assert device.hand.step(device.now, 0.01) is not None
    device.now += 150 * MS
    assert device.hand.step(device.now, 0.01) is None
    device.twist(0.2, clutch=True)  # it comes back with the state it had
    before = device.step()
    device.twist(0.2, clutch=True)
    assert device.step() == pytest.approx(before)


def test_the_gripper_moves_at_its_speed_inside_its_limits(rig: Rig, ik: DifferentialIk) -> None:
    device = Device(rig, ik)
    for _ in range(10):
        device.twist(0.0, clutch=True, gripper=-1.0)
        positions = device.step()
    assert positions[-1] == pytest.approx(HOME[-1] - 10 * 0.01 * 2.0)
    for _ in range(60):
        device.twist(0.0, clutch=True, gripper=-1.0)
        positions = device.step()
    assert positions[-1] == 0.0


def test_a_tracked_hand_moves_the_tip_as_it_moves_itself(rig: Rig, ik: DifferentialIk) -> None:
    device = Device(rig, ik)
    start = ik.pose(HOME)
    far_away = np.array([3.0, 2.0, 1.0])
    for i in range(60):
        device.now += 10 * MS
        offset = np.array([0.0, 0.0, 0.002]) * min(i, 25)
        pose = Pose(far_away + offset, np.eye(3))
        device.hand.pose(pose, clutch=True, gripper=0.0, stamp_ns=device.now, now_ns=device.now)
        positions = device.step()
    end = ik.pose(positions)
    assert end.position - start.position == pytest.approx([0, 0, 0.05], abs=1e-4)
    assert end.rotation == pytest.approx(start.rotation, abs=1e-3)


def test_a_clutch_is_not_closed_before_it_was_seen_open() -> None:
    clutch = Clutch(timeout_ns=100 * MS)
    clutch.update(True, 0)
    assert clutch.grip(0) is Grip.RELEASED
    clutch.update(False, 10 * MS)
    clutch.update(True, 20 * MS)
    assert clutch.grip(20 * MS) is Grip.HELD
    assert clutch.grip(121 * MS) is Grip.SILENT

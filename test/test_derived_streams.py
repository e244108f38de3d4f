# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from curation.align.align import align
from curation.align.derived import tip_pose
from curation.align.episode import Signal
from curation.align.load import load_episode
from curation.align.options import AlignOptions, Derivation, Derived
from curation.exceptions import StreamError
from support.rehearsal import recording
from support.streams import usual, write
from teleop_bridge.exceptions import RigError
from teleop_bridge.rig.loader import parse_rig
from teleop_bridge.rig.schema import Role

# two links of 0.3 m and 0.2 m that turn about z in one plane
URDF = """
<robot name="planar">
  <link name="base"/><link name="upper"/><link name="lower"/><link name="tip"/>
  <joint name="one" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
  <joint name="two" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0.3 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="end" type="fixed"><parent link="lower"/><child link="tip"/>
    <origin xyz="0.2 0 0"/></joint>
</robot>
"""


def signal(values: np.ndarray) -> Signal:
    return Signal(
        ('one', 'two'), values, np.zeros(values.shape, np.int64), np.ones(len(values), bool)
    )


def test_velocity_is_the_difference_to_the_message_before(tmp_path: Path) -> None:
    wanted = AlignOptions(
        rate=Fraction(25), derived=(Derived('speed', Derivation.VELOCITY),)
    )
    speed = load_episode(write(tmp_path / 'bag', usual()), options=wanted).signals['speed']
    # the positions are the time in s and its negative
    np.testing.assert_allclose(speed.values[1:, 0], 1, atol=1e-6)
    np.testing.assert_allclose(speed.values[1:, 1], -1, atol=1e-6)
    assert np.isnan(speed.values[0]).all()


def test_velocity_is_the_drivers_where_it_gives_one() -> None:
    episode = recording(0)
    state = episode.series['state']
    assert state.joints is not None
    given = replace(state.joints, velocities=np.full(state.joints.positions.shape, 7.0))
    episode = replace(
        episode, series={**episode.series, 'state': replace(state, joints=given)}
    )
    options = AlignOptions(derived=(Derived('speed', Derivation.VELOCITY),))
    assert (align(episode, options)[0].signals['speed'].values == 7).all()


def test_relative_action_is_the_action_less_the_state() -> None:
    options = AlignOptions(derived=(Derived('delta', Derivation.RELATIVE),))
    episode = align(recording(0), options)[0]
    assert episode.action is not None
    np.testing.assert_array_equal(
        episode.signals['delta'].values, episode.action - episode.state
    )


def test_tip_pose_is_that_of_the_planar_arm(tmp_path: Path) -> None:
    pytest.importorskip('pinocchio', reason='pinocchio (pip install pin) is not installed')
    (tmp_path / 'arm.urdf').write_text(URDF)
    rig = parse_rig(
        'rig: planar\nurdf: arm.urdf\njoints: {one: {}, two: {}}\nstreams:\n  s: {topic: /s, '
        'type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}\n',
        str(tmp_path / 'rig.yaml'),
    )
    one, two = np.linspace(-2, 2, 50), np.linspace(0, 7, 50)
    pose = tip_pose(rig, 'tip', signal(np.column_stack([one, two]))).values
    both = one + two
    np.testing.assert_allclose(pose[:, 0], 0.3 * np.cos(one) + 0.2 * np.cos(both), atol=1e-9)
    np.testing.assert_allclose(pose[:, 1], 0.3 * np.sin(one) + 0.2 * np.sin(both), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(pose[:, 3:], axis=1), 1, atol=1e-12)
    assert ((pose[1:, 3:] * pose[:-1, 3:]).sum(axis=1) > 0).all()  # no leap to the other sign
    turn = 2 * np.unwrap(np.arctan2(pose[:, 5], pose[:, 6]))
    np.testing.assert_allclose(turn - turn[0], both - both[0], atol=1e-9)
    lost = np.column_stack([one, two])
    lost[3, 1] = np.nan
    assert np.isnan(tip_pose(rig, 'tip', signal(lost)).values[3]).all()
    with pytest.raises(RigError, match="no frame 'hand'"):
        tip_pose(rig, 'hand', signal(lost))


def test_what_can_not_be_derived_is_named() -> None:
    for derived, message in (
        (Derived('state', Derivation.VELOCITY), "'state' is a stream already"),
        (Derived('d', Derivation.RELATIVE, Role.LEADER), 'needs joints of the role leader'),
    ):
        with pytest.raises(StreamError, match=message):
            align(recording(0), AlignOptions(derived=(derived,)))

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A LeRobot checkpoint is refused with a reason; make check-lerobot trains and runs a real one."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from teleop_bridge.policy.base import load_policy, PolicyError
from teleop_bridge.rig.loader import parse_rig

RIG = parse_rig("""
rig: one joint
joints: {a: {}}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}
""")
PLUGIN = 'teleop_bridge.policy.lerobot:LeRobotPolicy'


@pytest.mark.parametrize('given', ['outputs/last', 'outputs/last@', 'outputs/last@0', ''])
def test_the_rate_must_be_said(given: str) -> None:
    with pytest.raises(PolicyError, match='expected FOLDER@RATE, such as'):
        load_policy(PLUGIN, RIG, given)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r'gone: checkpoint cannot be read \(No such file'):
        load_policy(PLUGIN, RIG, f'{tmp_path / "gone"}@30')


@pytest.mark.skipif(find_spec('lerobot') is not None, reason='lerobot is installed')
def test_without_lerobot_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match='need pip install lerobot'):
        load_policy(PLUGIN, RIG, f'{tmp_path}@30')

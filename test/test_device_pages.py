# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Every device has a page, and the rig file that its page links is whole."""

from __future__ import annotations

from pathlib import Path
import re

import pytest

from teleop_bridge.bus.calibration import Calibration, ServoCalibration
from teleop_bridge.bus.device import bus_device, is_arm
from teleop_bridge.cartesian.device import hand_device
from teleop_bridge.pedal import pedal
from teleop_bridge.rig import bringup
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Role

ROOT = Path(__file__).parents[1]
PAGES = {
    'so101': ['leader', 'follower', 'intervention'],
    'gello': ['leader', 'follower', 'intervention'],
    'gamepad': ['hand', 'follower', 'intervention'],
    'spacemouse': ['hand', 'follower', 'intervention'],
    'vr_controller': ['hand', 'follower', 'intervention'],
    'ros2_control': ['leader', 'follower', 'intervention'],
}
RIGS = sorted((ROOT / 'config' / 'rigs').glob('*.yaml'))


def test_there_is_a_page_for_every_device() -> None:
    assert {path.stem for path in (ROOT / 'docs' / 'devices').glob('*.md')} == set(PAGES)


@pytest.mark.parametrize('name', PAGES)
def test_a_page_s_rig_starts_its_nodes_and_its_links_lead_somewhere(name: str) -> None:
    page = ROOT / 'docs' / 'devices' / f'{name}.md'
    links = re.findall(r'\]\(([^)#]+)\)', page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []
    (rig_file,) = (page.parent / link for link in links if '/rigs/' in link)
    rig = load_rig(rig_file)
    assert [process.executable for process in bringup.driving(rig)] == PAGES[name]
    assert len(rig.by_role(Role.ACTION)) == len(rig.by_role(Role.AUTHORITY)) == 1
    if any(is_arm(device, 'leader') for device in rig.devices):
        assert rig.by_role(Role.LEADER)


@pytest.mark.parametrize('path', RIGS, ids=lambda path: path.stem)
def test_every_rig_file_of_ours_declares_its_devices_well(path: Path) -> None:
    rig = load_rig(path)
    hand_device(rig)
    pedal(rig)
    any_arm = Calibration({'j': ServoCalibration(id=1, zero=0, range_min=0, range_max=1)})
    for name in rig.devices:
        if is_arm(name, 'leader') or is_arm(name, 'follower'):
            assert bus_device(rig, name, uncalibrated=any_arm) is not None

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Nodes that publish images ask Fast DDS for a segment that holds them."""

from __future__ import annotations

import os
from pathlib import Path
import xml.etree.ElementTree as ElementTree

import pytest

from teleop_bridge.nodes.large_messages import PROFILES, share_memory_for_images

IMAGE_BYTES = 640 * 480 * 3


def test_the_profile_has_room_for_several_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROFILES, '')  # so that it is taken back, then
    monkeypatch.delenv(PROFILES)
    share_memory_for_images()
    path = Path(os.environ[PROFILES])
    sizes = {element.tag.split('}')[1]: element.text for element in ElementTree.parse(path).iter()}
    assert int(sizes['segment_size'] or 0) > 8 * IMAGE_BYTES
    assert int(sizes['maxMessageSize'] or 0) > IMAGE_BYTES


def test_a_users_own_profile_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROFILES, 'mine.xml')
    share_memory_for_images()
    assert os.environ[PROFILES] == 'mine.xml'

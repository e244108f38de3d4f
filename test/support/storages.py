# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The bag writers that a test can be repeated with."""

from __future__ import annotations

import pytest

from recorder.bag.writer import has_rosbag2

STORAGES = [
    'mcap',
    pytest.param(
        'rosbag2',
        marks=pytest.mark.skipif(not has_rosbag2(), reason='rosbag2_py is not installed'),
    ),
]

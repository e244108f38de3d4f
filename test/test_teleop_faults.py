# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Every fault of the benchmark: held in time, recovered from without a jump."""

from __future__ import annotations

from pathlib import Path
import sys

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # bench/ is not installed
from bench.faults import FAULTS, PERIOD_NS, run_fault
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig


@pytest.mark.parametrize('name', FAULTS)
def test_a_fault_is_held_within_a_period_and_recovered_slowly(name: str) -> None:
    follower = load_rig(data_file('config/rigs/so101_sim.yaml')).follower
    _, held_ms, step_mrad, phase = run_fault(name)
    assert float(str(held_ms)) <= (follower.max_age_ns + PERIOD_NS) / 1e6
    # the approach's own speed, and what braking and the source's motion add in one period
    assert float(str(step_mrad)) <= 1.1 * 1000 * follower.startup_velocity * PERIOD_NS / 1e9
    assert phase == ('policy' if name.startswith('policy') else 'human')

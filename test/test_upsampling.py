# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A command sent at a controller's rate: through every command, without steps, held at its end."""

from __future__ import annotations

import numpy as np
import pytest

from teleop_bridge.upsampling import Upsampler

MS = 1_000_000


def test_nothing_is_sent_before_the_first_command() -> None:
    assert Upsampler(period_ns=10 * MS).at(0) is None


def test_five_samples_go_straight_to_each_command_and_then_hold() -> None:
    between = Upsampler(period_ns=10 * MS)
    between.aim(np.array([0.0, 1.0]), 0)
    between.aim(np.array([0.1, 1.0]), 10 * MS)
    sent = np.array([between.at((10 + 2 * i) * MS) for i in range(8)])
    assert sent[:, 0] == pytest.approx([0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.1, 0.1])
    assert sent[:, 1] == pytest.approx(1.0)


def test_a_command_that_comes_early_starts_where_the_robot_was_sent() -> None:
    between = Upsampler(period_ns=10 * MS)
    between.aim(np.array([0.0]), 0)
    between.aim(np.array([1.0]), 10 * MS)
    before = between.at(15 * MS)
    between.aim(np.array([2.0]), 15 * MS)
    assert before == pytest.approx([0.5])
    assert between.at(15 * MS) == pytest.approx([0.5])
    assert between.at(25 * MS) == pytest.approx([2.0])

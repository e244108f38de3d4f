# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Days as arguments: a date, or so many days ago; bags begun since one."""

from __future__ import annotations

import argparse
from pathlib import Path
import time

import pytest

from curation.cli.days import begun_since, day
from support.bags import START_NS, write_bag

DAY_NS = 86_400 * 1_000_000_000


def test_a_date_and_days_ago() -> None:
    assert day('2026-01-31') == 1_769_817_600 * 1_000_000_000
    assert day('7d') == pytest.approx(time.time_ns() - 7 * DAY_NS, abs=60e9)


@pytest.mark.parametrize('text', ['', 'd', '-7d', '7 days', '31.1.2026', '123456d', '99999999d'])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match='expected as 2026-01-31 or 7d'):
        day(text)


def test_bags_begun_since(tmp_path: Path) -> None:
    write_bag(tmp_path / 'a')
    assert begun_since([tmp_path / 'a'], START_NS) == [tmp_path / 'a']
    assert begun_since([tmp_path / 'a'], START_NS + DAY_NS) == []

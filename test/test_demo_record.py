# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A machine too slow for the demo's rig: the demo starts anew at lower rates, and says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')

from curation.demo import record as module
from curation.demo.pace import slowed_rig
from curation.demo.plan import PLAN
from curation.demo.play import Recorded
from curation.exceptions import NotArmedError
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig

RIG = data_file(module.RIG)


def test_a_slowed_rig_has_its_share_of_every_rate_and_nothing_else(tmp_path: Path) -> None:
    whole, slowed = load_rig(RIG), load_rig(slowed_rig(RIG, share=0.5, folder=tmp_path))
    assert slowed.follower.rate_hz == whole.follower.rate_hz / 2
    for before, after in zip(whole.streams, slowed.streams, strict=True):
        assert after.rate_hz == (before.rate_hz / 2 if before.rate_hz else None)
    assert slowed.joints == whole.joints
    assert slowed.mapping == whole.mapping


def test_the_whole_rate_is_the_rigs_own_file(tmp_path: Path) -> None:
    assert slowed_rig(RIG, share=1.0, folder=tmp_path) == RIG


def test_a_rig_that_does_not_arm_starts_anew_slower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[float] = []

    def attempts(rig: Path, *_: Any, **__: Any) -> Iterator[Recorded]:
        rates.append(load_rig(rig).follower.rate_hz)
        if rates[-1] > 30:
            raise NotArmedError('not armed: state: 20 Hz')
        yield Recorded(PLAN[0], tmp_path)

    monkeypatch.setattr(module, '_attempts', attempts)
    told: list[str] = []
    recorded = module.record(tmp_path, tell=told.append, domain_id=1)
    assert [entry.attempt for entry in recorded] == [PLAN[0]]
    assert rates == [100.0, 50.0, 20.0]
    assert told == [
        'not armed: state: 20 Hz: again at 50% of the rates, since this machine is too slow',
        'not armed: state: 20 Hz: again at 20% of the rates, since this machine is too slow',
    ]


@pytest.mark.parametrize('before', [[], [Recorded(PLAN[0], Path())]])
def test_what_does_not_arm_later_or_slower_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: list[Recorded]
) -> None:
    def attempts(*_: Any, **__: Any) -> Iterator[Recorded]:
        yield from before
        raise NotArmedError('not armed: no camera')

    monkeypatch.setattr(module, '_attempts', attempts)
    told: list[str] = []
    with pytest.raises(NotArmedError, match='no camera'):
        module.record(tmp_path, tell=told.append, domain_id=1)
    assert len(told) == (0 if before else 2)

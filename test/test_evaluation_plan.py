# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""An evaluation treats its checkpoints alike."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from recorder.evaluation import interleave, Trial

NAMES = st.lists(st.text('abcd', min_size=1, max_size=3), min_size=1, max_size=4, unique=True)


@given(NAMES, NAMES, st.integers(1, 4), st.text(max_size=3))
def test_every_checkpoint_meets_every_place_equally_often_and_in_turn(
    checkpoints: list[str], places: list[str], repeats: int, seed: str
) -> None:
    trials = interleave(checkpoints, places, repeats=repeats, seed=seed)
    expected = {Trial(c, p): repeats for c in checkpoints for p in places}
    assert Counter(trials) == expected
    width = len(checkpoints)
    for first in range(0, len(trials), width):
        together = trials[first : first + width]
        assert len({trial.location for trial in together}) == 1
        assert {trial.checkpoint for trial in together} == set(checkpoints)
    assert interleave(checkpoints, places, repeats=repeats, seed=seed) == trials


def test_orders_vary() -> None:
    orders = {interleave(['a', 'b', 'c'], [], repeats=2, seed=str(i)) for i in range(20)}
    assert len(orders) > 10

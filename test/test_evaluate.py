# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Evaluation on the simulated arm, and how sure its numbers are."""

from __future__ import annotations

from importlib.util import find_spec
import json

import pytest

from curation.cli.exits import Exit
from curation.cli.main import main
from curation.train.intervals import paired_difference, wilson
from recorder.headless_evaluation import held_out_starts

needs_mujoco = pytest.mark.skipif(
    find_spec('mujoco') is None, reason='the simulated rig needs pip install mujoco'
)
FLAWED = ['--policy', 'teleop_bridge.sim.flawed:FlawedPolicy']


def test_wilsons_interval_is_the_published_one() -> None:
    # Newcombe (1998), table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for successes, trials, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        assert wilson(successes, trials) == pytest.approx((low, high), abs=1e-4)


def test_a_paired_difference_excludes_zero_only_where_it_is_sure() -> None:
    starts = 100
    worse = [[i % 2 == 0 for i in range(starts)]] * 3
    better = [[i % 4 != 3 for i in range(starts)]] * 3
    mean, low, high = paired_difference(worse, better)
    assert mean == pytest.approx(0.25) and 0 < low < 0.25 < high
    assert paired_difference(worse, worse) == (0.0, 0.0, 0.0)


def test_held_out_starts_are_the_same_for_everyone() -> None:
    assert held_out_starts(5) == held_out_starts(10)[:5]
    assert len({attempt.start for attempt in held_out_starts(50)}) == 50


@needs_mujoco
def test_the_verb_compares(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ['evaluate', 'offset=0.0', '--against', 'offset=0.05', *FLAWED, '--starts', '3']
    assert main([*arguments, '--json']) is Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert told['solved']['offset=0.0'] == [True] * 3
    assert told['solved']['offset=0.05'] == [False] * 3
    assert told['difference']['mean'] == 1.0


@needs_mujoco
def test_a_missing_checkpoint_is_told() -> None:
    assert main(['evaluate', 'none.onnx', '--starts', '1']) is Exit.BAD_DATA

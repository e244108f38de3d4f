# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Simulated collections: people of different skill who tire and choose where the cube lies."""

from __future__ import annotations

from importlib.util import find_spec
import json
from pathlib import Path
from shutil import which
import subprocess

import numpy as np
import pytest

from curation.align.load import load_episode
from curation.cli.exits import Exit
from curation.cli.main import main
from recorder.headless_collection import plan_shift, Shift
from teleop_bridge.sim.places import draw_place, Place
from teleop_bridge.sim.skill import Script

pytestmark = pytest.mark.skipif(
    find_spec('mujoco') is None, reason='the simulated rig needs pip install mujoco'
)


def test_an_operator_tires_and_worse_ones_fumble_more() -> None:
    better, worse = (plan_shift(Shift('op', skill, 200, seed=1)) for skill in ('better', 'worse'))
    assert [better[0].fatigue, better[-1].fatigue] == [0.0, 1.0]
    fumbles = [sum(a.script is Script.FUMBLE for a in plan) for plan in (better, worse)]
    assert fumbles[0] < 15 < 25 < fumbles[1]


def test_comfort_bias_draws_easy_places() -> None:
    def effort(bias: float) -> float:
        rng = np.random.default_rng(0)
        return float(np.mean([draw_place(rng, comfort_bias=bias).effort for _ in range(500)]))

    assert effort(1.0) < 0.6 * effort(0.0)


def test_places_that_are_asked_for_are_used() -> None:
    asked = (Place((0.2, 0.0), 0.1), Place((0.2, -0.1), 0.2))
    plan = plan_shift(Shift('op', 'worse', 3, seed=1, places=asked))
    assert [attempt.start.cube_xy for attempt in plan] == [p.xy for p in (*asked, asked[0])]


def test_simulated_episodes_align(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / 'bags'
    arguments = ['simulate', '--out', str(out), '--operators', 'better', '--episodes', '1']
    assert main([*arguments, '--seed', '5', '--json']) is Exit.OK
    (told,) = json.loads(capsys.readouterr().out)
    episode = load_episode(told['bag'])
    assert episode.id == told['id']
    assert episode.facts.grade == told['grade'] == 'success_first_try'
    assert episode.facts.location
    assert episode.valid.all()
    assert episode.signals['cube'].values[0, :2] == pytest.approx(told['start_cube'][:2], abs=1e-3)


def test_an_output_folder_that_exists_is_refused(tmp_path: Path) -> None:
    assert main(['simulate', '--out', str(tmp_path)]) is Exit.BAD_DATA


def test_an_unknown_skill_is_refused(tmp_path: Path) -> None:
    arguments = ['simulate', '--out', str(tmp_path / 'x'), '--operators', 'best']
    assert main(arguments) is Exit.BAD_DATA
    assert not (tmp_path / 'x').exists()


@pytest.mark.skipif(which('flywheel') is None, reason='the program flywheel is not installed')
def test_the_installed_program_shares_work_among_processes(tmp_path: Path) -> None:
    out = tmp_path / 'bags'
    arguments = ['--operators', 'better,okay', '--episodes', '1', '--jobs', '2', '--json']
    done = subprocess.run(
        ['flywheel', 'simulate', '--out', str(out), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 2

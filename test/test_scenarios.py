# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Scenarios: hard moments are kept once, and a checkpoint that loses one is caught."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from curation.cli.exits import Exit
from curation.cli.main import main
from curation.scenarios.harvest import harvest
from curation.scenarios.library import grow, Kind, load_library, Scenario
from curation.scenarios.regress import Judged, Outcome, regressions, write_junit
from recorder.headless import Attempt, Driver, Start
from support.simulated import align_all, simulate
from teleop_bridge.sim.skill import Script

pytestmark = pytest.mark.skipif(
    find_spec('mujoco') is None, reason='the simulated rig needs pip install mujoco'
)

FLAWED = 'teleop_bridge.sim.flawed:FlawedPolicy'


@pytest.fixture(scope='module')
def bags(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    attempts = [
        Attempt(1),
        Attempt(3, script=Script.FUMBLE),
        Attempt(4, driver=Driver.CORRECTED),
        Attempt(5, driver=Driver.POLICY, limit_ns=8_000_000_000, start=Start((0.2, 0.0))),
    ]
    return simulate(tmp_path_factory.mktemp('bags'), attempts)


def test_hard_moments_are_harvested_with_their_start_states(bags: list[Path]) -> None:
    clean, fumbled, corrected, failed = (harvest(episode) for episode in align_all(bags))
    assert clean == []
    assert [s.kind for s in (*fumbled, *corrected, *failed)] == [
        Kind.NEAR_MISS, Kind.INTERVENTION, Kind.FAILURE,
    ]  # fmt: skip
    assert corrected[0].reason == 'grasp missed'
    assert corrected[0].end_ns > corrected[0].start_ns
    assert failed[0].cube is not None
    assert failed[0].cube[:2] == pytest.approx((0.2, 0.0), abs=1e-3)
    assert failed[0].name == 'failure_somewhere'


def scenario(name: str, x: float, kind: Kind = Kind.FAILURE) -> Scenario:
    return Scenario(name, kind, 'pick', 'id', 'bag', 0, 1, (0.0,), (x, 0.0, 0.0), 'done')


def test_near_scenarios_are_kept_once_and_names_stay_apart() -> None:
    found = [
        scenario('a', 0.2),
        scenario('a', 0.21),
        scenario('a', 0.25),
        scenario('a', 0.2, Kind.NEAR_MISS),
        replace(scenario('a', 0.2), cube=None),
    ]
    grown, near = grow([], found, distance=0.02)
    assert near == 1
    assert [s.name for s in grown] == ['a', 'a_2', 'a_3', 'a_4']


def test_a_lost_scenario_is_named_with_who_solved_it(tmp_path: Path) -> None:
    def outcomes(*solved: bool) -> list[Outcome]:
        return [Outcome(f's{i}', s, Judged.SIMULATION, '') for i, s in enumerate(solved)]

    earlier = {'old': outcomes(True, False, False), 'older': outcomes(True, True, False)}
    now = outcomes(False, True, False)
    (lost,) = regressions(now, earlier)
    assert (lost.scenario, lost.solved_by) == ('s0', ('old', 'older'))
    write_junit(tmp_path / 'junit.xml', 'new', now, [lost])
    suite = ElementTree.parse(tmp_path / 'junit.xml').getroot()
    assert (suite.get('tests'), suite.get('failures'), suite.get('skipped')) == ('3', '1', '1')
    failure = suite.find('.//failure')
    assert failure is not None and 'old' in (failure.get('message') or '')


def test_a_damaged_policy_is_caught(
    bags: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library, junit = tmp_path / 'library.json', tmp_path / 'junit.xml'
    grow_it = ['scenarios', str(library), *map(str, bags)]
    assert main(grow_it) is Exit.OK
    names = [s.name for s in load_library(library)]
    assert len(names) == 3
    assert main(grow_it) is Exit.OK
    assert [s.name for s in load_library(library)] == names  # nothing new the second time
    capsys.readouterr()
    regress = ['regress', str(library), '--policy', FLAWED, '--json']
    assert main([*regress, '--checkpoint', 'offset=0.0']) is Exit.OK
    good = json.loads(capsys.readouterr().out)
    assert all(outcome['solved'] for outcome in good['outcomes'])
    damaged = [*regress, '--checkpoint', 'offset=0.05', '--junit', str(junit)]
    assert main(damaged) is Exit.BAD_DATA
    bad = json.loads(capsys.readouterr().out)
    assert [lost['scenario'] for lost in bad['regressions']] == names
    assert bad['regressions'][0]['solved_by'] == ['offset=0.0']
    assert junit.exists()


def test_a_library_grows_from_the_last_days_alone(bags: list[Path], tmp_path: Path) -> None:
    library = tmp_path / 'hard.json'
    grown = ['scenarios', str(library), *map(str, bags), '--since']
    assert main([*grown, '2026-01-02']) is Exit.OK  # simulated on the day before
    assert load_library(library) == []
    assert main([*grown, '2026-01-01']) is Exit.OK
    assert len(load_library(library)) == 3


def test_an_empty_or_broken_library_is_refused(tmp_path: Path) -> None:
    library = tmp_path / 'library.json'
    assert main(['regress', str(library), '--policy', FLAWED]) is Exit.BAD_DATA
    library.write_text('{}')
    assert main(['scenarios', str(library)]) is Exit.BAD_DATA

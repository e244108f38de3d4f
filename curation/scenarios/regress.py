# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A checkpoint through every scenario, against what earlier checkpoints could do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
import json
from pathlib import Path
from urllib.parse import quote, unquote
from xml.etree import ElementTree

import numpy as np

from curation.align.load import load_episode
from curation.align.options import AlignOptions
from curation.exceptions import ScenarioError
from curation.replay.divergence import measure_spread, replay
from curation.replay.takeovers import takeovers
from curation.scenarios.library import Kind, Scenario
from curation.train.options import TrainOptions
from recorder.headless import Attempt, Driver, Start
from recorder.headless_evaluation import Candidate, evaluate
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.policy.base import Policy

_LIMIT_NS = 20 * NANOSECONDS
_STAYS = 2.0  # spreads: a replayed attempt whose median is below stays with people


class Judged(str, Enum):
    """How a scenario was judged."""

    SIMULATION = 'simulation'
    REPLAY = 'replay'


@dataclass(frozen=True)
class Outcome:
    """How a checkpoint did in one scenario."""

    scenario: str
    solved: bool
    judged: Judged
    detail: str


@dataclass(frozen=True)
class Regression:
    """A scenario that an earlier checkpoint solved and this one does not."""

    scenario: str
    solved_by: tuple[str, ...]


def run_scenarios(
    scenarios: Sequence[Scenario],
    candidate: Candidate,
    policy: Policy,
    *,
    jobs: int = 1,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> list[Outcome]:
    """Run every scenario: closed loop where its scene can be rebuilt, by replay otherwise."""
    rebuilt = [scenario for scenario in scenarios if scenario.cube is not None]
    results = evaluate(candidate, [_attempt(s) for s in rebuilt], jobs=jobs, advance=advance)
    outcomes = {
        scenario.name: Outcome(
            scenario.name, result.solved, Judged.SIMULATION, result.grade.value
        )
        for scenario, result in zip(rebuilt, results, strict=True)
    }
    for scenario in scenarios:
        if scenario.cube is None:
            outcomes[scenario.name] = _replayed(scenario, policy)
    return [outcomes[scenario.name] for scenario in scenarios]


def regressions(
    outcomes: Sequence[Outcome], earlier: Mapping[str, Sequence[Outcome]]
) -> list[Regression]:
    """Return what earlier checkpoints (by their hash) solved and this one does not."""
    found = []
    for outcome in outcomes:
        solvers = tuple(
            checkpoint
            for checkpoint, theirs in earlier.items()
            if any(o.scenario == outcome.scenario and o.solved for o in theirs)
        )
        if solvers and not outcome.solved:
            found.append(Regression(outcome.scenario, solvers))
    return found


def load_results(folder: Path, *, apart_from: str) -> dict[str, list[Outcome]]:
    """Read what earlier checkpoints did, by their hash; ScenarioError names a broken file."""
    results = {}
    for path in sorted(folder.glob('*.json')):
        if unquote(path.stem) == apart_from:
            continue
        try:
            entries = json.loads(path.read_text(encoding='utf-8'))
            results[unquote(path.stem)] = [
                Outcome(e['scenario'], e['solved'], Judged(e['judged']), e['detail'])
                for e in entries
            ]
        except (ValueError, KeyError, TypeError) as error:
            raise ScenarioError(f'{path}: expected results of regress, found {error!r}') from error
    return results


def save_results(folder: Path, checkpoint: str, outcomes: Sequence[Outcome]) -> None:
    """Keep what a checkpoint did, for those that come after it."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = [
        {'scenario': o.scenario, 'solved': o.solved, 'judged': o.judged.value, 'detail': o.detail}
        for o in outcomes
    ]
    name = f"{quote(checkpoint, safe='')}.json"
    (folder / name).write_text(json.dumps(entries, indent=1) + '\n')


def write_junit(
    path: Path, checkpoint: str, outcomes: Sequence[Outcome], lost: Sequence[Regression]
) -> None:
    """Write JUnit XML: a regression is a failure; never solved by anyone is skipped."""
    by_name = {regression.scenario: regression for regression in lost}
    suite = ElementTree.Element(
        'testsuite',
        name=f'scenarios of {checkpoint[:16]}',
        tests=str(len(outcomes)),
        failures=str(len(lost)),
        skipped=str(sum(not o.solved and o.scenario not in by_name for o in outcomes)),
    )
    for outcome in outcomes:
        case = ElementTree.SubElement(
            suite, 'testcase', classname=outcome.judged.value, name=outcome.scenario
        )
        if outcome.scenario in by_name:
            solvers = ', '.join(name[:16] for name in by_name[outcome.scenario].solved_by)
            ElementTree.SubElement(case, 'failure', message=f'was solved by {solvers}')
        elif not outcome.solved:
            ElementTree.SubElement(case, 'skipped', message='not solved by anyone yet')
    ElementTree.ElementTree(suite).write(path, encoding='utf-8', xml_declaration=True)


def _attempt(scenario: Scenario) -> Attempt:
    assert scenario.cube is not None
    x, y, yaw = scenario.cube
    start = Start((x, y), yaw, scenario.joints)
    return Attempt(seed=0, driver=Driver.POLICY, start=start, limit_ns=_LIMIT_NS)


def _replayed(scenario: Scenario, policy: Policy) -> Outcome:
    episode = load_episode(scenario.bag, options=AlignOptions(rate=TrainOptions().rate))
    if episode.id != scenario.episode_id:
        raise ScenarioError(
            f"scenario '{scenario.name}': expected episode {scenario.episode_id[:12]}"
            f' in {scenario.bag}, found {episode.id[:12]}'
        )
    spread = measure_spread([episode])
    policy.reset()
    if scenario.kind is Kind.INTERVENTION:
        for takeover in takeovers(policy, episode, spread):
            if takeover.intervention.begin_ns >= scenario.start_ns:
                detail = f'{takeover.distance:.1f} spreads from its predecessor'
                return Outcome(scenario.name, takeover.same is False, Judged.REPLAY, detail)
    median = float(np.nanmedian(replay(policy, episode, spread).worst))
    detail = f'{median:.1f} spreads from people'
    return Outcome(scenario.name, median < _STAYS, Judged.REPLAY, detail)

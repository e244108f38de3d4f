# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The questions have the true answers on a simulated collection of which all is known."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

pytest.importorskip('mujoco', reason='the simulated rig needs pip install mujoco')

from curation.align.options import AlignOptions
from curation.catalog.database import open_catalog
from curation.catalog.ingest import ingest
from curation.catalog.questions import ask, Asked
from curation.manifests.file import options_of
from curation.manifests.freeze import freeze, FreezeOptions
from curation.manifests.split import Together
from curation.scores.rules import load_rules
from curation.work import ProcessExecutor
from support.collection import Done, in_corner, plan, POLICIES, record, SKILLS, TIRELESS
from teleop_bridge.vocabulary import Grade, SessionKind

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]  # minutes of simulation

COPIES = 4
SUCCESSES = (Grade.SUCCESS_FIRST_TRY, Grade.SUCCESS_AFTER_RETRIES)


class Truth:
    """The collection as it was made, and the catalog of its bags."""

    def __init__(self, folder: Path, episodes: list[Done], connection: Connection) -> None:
        self.folder = folder
        self.episodes = episodes
        self.connection = connection
        self.told = cache(self._told)

    def _told(self, question: str, **asked: Any) -> list[dict[str, Any]]:
        return ask(self.connection, question, Asked(**asked)).documents()


@pytest.fixture(scope='module')
def truth(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp('collection')
    episodes = record(folder, plan(days=4, each=13, with_policy=13, copies=COPIES))
    engine = open_catalog(folder)
    done = ingest(engine, [folder], executor_for=lambda bags: ProcessExecutor(2))
    assert not done.failures
    with engine.begin() as connection:
        yield Truth(folder, episodes, connection)


def share(episodes: list[Done]) -> float:
    return sum(done.result.grade in SUCCESSES for done in episodes) / len(episodes)


def test_at_least_200_episodes_are_counted_with_their_collectors(truth: Truth) -> None:
    assert sum(row['episodes'] for row in truth.told('episodes')) == len(truth.episodes) >= 200
    collected = Counter(done.sitting.operator for done in truth.episodes)
    assert {row['operator']: row['episodes'] for row in truth.told('collectors')} == collected
    grades = Counter(done.result.grade.value for done in truth.episodes)
    (row,) = truth.told('episodes')
    assert {grade: row[grade] for grade in grades} == grades
    assert sum(row['episodes'] for row in truth.told('starts')) == len(truth.episodes)
    failed = sum(done.result.grade not in SUCCESSES for done in truth.episodes)
    assert sum(row['episodes'] for row in truth.told('failures')) == failed
    assert 0.3 < sum(row['hours'] for row in truth.told('sizes')) < 3


def test_worse_operators_rank_worse(truth: Truth) -> None:
    rows = {row['operator']: row for row in truth.told('operators')}
    smooth = {SKILLS[person]: row['smoothness'] for person, row in rows.items()}
    values = {skill: float(text.split()[0]) for skill, text in smooth.items()}
    assert values['better'] > values['okay'] > values['worse']

    def low(skill: str) -> float:
        return float(smooth[skill].split('[')[1].split(',')[0])

    def high(skill: str) -> float:
        return float(smooth[skill].rstrip(']').split(', ')[1])

    assert low('better') > high('okay')
    assert low('better') > high('worse')
    assert rows['anna']['duration_s'] < rows['ben']['duration_s'] < rows['carl']['duration_s']


def test_who_tires_is_found_and_who_does_not_is_left_alone(truth: Truth) -> None:
    for row in truth.told('operators'):
        low, high = (
            float(v) for v in row['slower_per_episode'].split('[')[1].rstrip(']').split(', ')
        )
        if row['operator'] == TIRELESS:
            assert low <= 0 <= high
        else:
            assert low > 0, row


def test_planted_near_copies_are_found_and_nothing_else(truth: Truth) -> None:
    again = [done for done in truth.episodes if done.sitting.session_id == 'copies']
    first = [done for done in truth.episodes if done.sitting.session_id == 'anna_0'][:COPIES]
    found = {(row['like'], row['episode']) for row in truth.told('copies')}
    assert found == {(a.id, b.id) for a, b in zip(first, again, strict=True)}


def test_the_missing_corner_is_proposed(truth: Truth) -> None:
    (first, *_) = truth.told('next', count=3)
    x, y = first['start']
    assert in_corner((x, y)), first


def test_checkpoints_have_their_true_intervention_and_success_rates(truth: Truth) -> None:
    rates = {
        row['checkpoint']: row['interventions']
        for row in truth.told('interventions') if row['kind'] == 'all'
    }
    success = {row['checkpoint']: row for row in truth.told('success')}
    for policy in POLICIES:
        own = [done for done in truth.episodes if done.sitting.policy == policy]
        assert rates[policy] == sum(done.result.interventions for done in own)
        alone = [done for done in own if done.sitting.kind is SessionKind.EVALUATION]
        assert success[policy]['success'] == pytest.approx(share(alone), abs=1e-3)
        assert success[policy]['low'] <= share(alone) <= success[policy]['high']
    assert rates[POLICIES[0]] > 5 * max(rates[POLICIES[1]], 1)
    assert success[POLICIES[0]]['high'] < success[POLICIES[1]]['low']
    (driving,) = truth.told('deployed')
    assert driving['checkpoint'] == POLICIES[1]


def test_a_manifest_drops_failures_and_copies_and_splits_without_leaks(truth: Truth) -> None:
    options = FreezeOptions(rules=load_rules(), shares={'train': 8, 'val': 1, 'test': 1})
    frozen = freeze(truth.connection, 'm', options, options_of(AlignOptions(), {}))
    kept = {entry.id: entry for entry in frozen.manifest.episodes}
    for done in truth.episodes:
        evaluated = done.sitting.kind is SessionKind.EVALUATION
        copied = done.sitting.session_id == 'copies'
        assert (done.id in kept) != (evaluated or copied or done.result.grade is Grade.FAILURE)
    assert frozen.manifest.chosen_by['split']['together'] == Together.OPERATOR.value
    splits = {(entry.operator, entry.split) for entry in kept.values()}
    assert len(splits) == len(SKILLS)

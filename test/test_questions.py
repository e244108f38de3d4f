# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Each question about a catalog is answered by its rows, and by nothing else."""

from __future__ import annotations

from collections.abc import Sequence
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from curation.catalog.database import open_catalog, upsert
from curation.catalog.ingest import write_records
from curation.catalog.questions import ask, Asked, QUESTIONS
from curation.catalog.record import Record
from curation.catalog.tables import MANIFEST_EPISODES, MANIFESTS, MODELS
from curation.cli.exits import Exit
from curation.cli.main import main
from support.records import make_record


def filled(tmp_path: Path, records: Sequence[Record]) -> Engine:
    engine = open_catalog(tmp_path)
    with engine.begin() as connection:
        write_records(connection, records)
    return engine


def told(engine: Engine, question: str, **asked: Any) -> list[dict[str, Any]]:
    with engine.begin() as connection:
        return ask(connection, question, Asked(**asked)).documents()


def test_counts_hours_and_collectors(tmp_path: Path) -> None:
    engine = filled(
        tmp_path,
        [
            make_record(0, seconds=3600),
            make_record(1, operator='op2', grade='failure', seconds=1800),
            make_record(2, task='other', location='x'),
        ],
    )
    assert [(r['task'], r['episodes'], r['failure']) for r in told(engine, 'episodes')] == [
        ('other', 1, 0), ('pick_place', 2, 1)
    ]
    hours = {r['operator']: (r['hours'], r['success']) for r in told(engine, 'collectors',
                                                                     task='pick_place')}
    assert hours == {'op1': (1.0, 1.0), 'op2': (0.5, 0.0)}
    (size,) = told(engine, 'sizes', task='pick_place')
    assert (size['episodes'], size['hours'], size['gigabytes']) == (2, 1.5, 0.002)
    assert [r['task'] for r in told(engine, 'failures')] == ['pick_place']


def test_intervention_rate_by_reason_of_the_last_days_and_its_trend(tmp_path: Path) -> None:
    missed = (('goal', 'grasp missed'),)
    records = [
        make_record(
            10 * day + n, day=day, checkpoint='abc', reasons=missed if n < 8 - 2 * day else ()
        )
        for day in range(4)
        for n in range(10)
    ]
    engine = filled(tmp_path, [*records, make_record(999, day=3.1, checkpoint='other')])
    by_kind = {
        (r['checkpoint'], r['kind']): r for r in told(engine, 'interventions', checkpoint='abc')
    }
    everything = by_kind['abc', 'all']
    assert everything['interventions'] == 8 + 6 + 4 + 2
    assert everything['per_episode'] == 0.5
    assert everything['per_day'] == pytest.approx(-0.2)
    assert by_kind['abc', 'goal']['reason'] == 'grasp missed'
    (last, _) = told(engine, 'interventions', checkpoint='abc', days=1)
    assert last['per_episode'] == 0.2


def test_a_checkpoint_without_interventions_has_rate_zero(tmp_path: Path) -> None:
    engine = filled(tmp_path, [make_record(n, checkpoint='abc') for n in range(3)])
    (row,) = told(engine, 'interventions')
    assert (row['checkpoint'], row['interventions'], row['per_episode']) == ('abc', 0, 0.0)


def test_success_counts_evaluation_sessions_only_with_their_interval(tmp_path: Path) -> None:
    records = [
        make_record(
            n, kind='evaluation', session='eval', checkpoint='abc',
            grade='success_first_try' if n < 8 else 'failure',
        )
        for n in range(10)
    ]
    engine = filled(tmp_path, [*records, make_record(11, checkpoint='abc', session='play')])
    (row,) = told(engine, 'success')
    assert (row['episodes'], row['success']) == (10, 0.8)
    assert (row['low'], row['high']) == (0.49, 0.943)  # Wilson


def test_the_missing_corner_is_proposed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = [(x, y) for x in (0.13, 0.18, 0.23) for y in (-0.16, -0.1, -0.04, 0.02)]
    engine = filled(tmp_path, [make_record(n, xy=xy) for n, xy in enumerate(grid)])
    found = told(engine, 'next', count=1)
    assert found[0]['task'] == 'pick_place'
    x, y = found[0]['start']
    assert min((x - a) ** 2 + (y - b) ** 2 for a, b in grid) ** 0.5 == pytest.approx(
        found[0]['distance'], abs=1e-3
    )
    assert found[0]['near'] == 'far_left'
    assert main(['ask', 'next', str(tmp_path)]) == Exit.OK
    assert f' {x} {y} far_left ' in ' '.join(capsys.readouterr().out.split())


def test_a_gap_between_known_places_is_proposed_where_no_mat_is_declared(tmp_path: Path) -> None:
    places = [(x, y) for x in (0.1, 0.2, 0.3) for y in (0.0, 0.1, 0.2) if (x, y) != (0.2, 0.1)]
    records = [make_record(n, task='unknown', xy=xy) for n, xy in enumerate(places)]
    (found,) = told(filled(tmp_path, records), 'next', count=1)
    x, y = found['start']
    assert (x, y) == pytest.approx((0.2, 0.1), abs=0.011)


def test_what_to_review_and_which_episodes_a_finding_touches(tmp_path: Path) -> None:
    engine = filled(
        tmp_path,
        [
            make_record(0),
            make_record(1, finding='gap'),
            make_record(2, grade=''),
            make_record(3, checkpoint='abc', reasons=(('', ''),)),
        ],
    )
    why = {row['path']: row['why'] for row in told(engine, 'review')}
    assert why == {
        '/data/e1': 'gap was found',
        '/data/e2': 'has no grade, or was done in part',
        '/data/e3': 'an intervention has no reason yet',
    }
    assert told(engine, 'findings')[0] == {'finding': 'gap', 'severity': 'error', 'episodes': 1}
    assert [row['path'] for row in told(engine, 'findings', finding='gap')] == ['/data/e1']


def test_models_lead_to_manifests_and_episodes_to_models(tmp_path: Path) -> None:
    records = [make_record(n) for n in range(2)]
    engine = filled(tmp_path, records)
    with engine.begin() as connection:
        upsert(connection, MANIFESTS, [{'hash': 'm1', 'name': 'first', 'path': '/m'}])
        upsert(connection, MANIFEST_EPISODES, [
            {'manifest': 'm1', 'position': 0, 'episode_id': records[0].episode_id,
             'split': 'train', 'weight': 1.0},
            {'manifest': 'm1', 'position': 1, 'episode_id': records[1].episode_id,
             'split': 'test', 'weight': 1.0},
        ])
        upsert(connection, MODELS, [
            {'checkpoint': 'abc', 'manifest': 'm1', 'file': 'p.onnx', 'metrics': '{}'}
        ])
    assert told(engine, 'model', checkpoint='ab')[0]['name'] == 'first'
    assert [row['episode'] for row in told(engine, 'seen-by')] == [records[0].episode_id]


def test_worse_operators_and_fatigue_show(tmp_path: Path) -> None:
    records = [
        make_record(
            100 * day + 30 * worse + n, day=day, operator=f'op{worse}',
            seconds=10 * (1.02**n if worse else 1), smoothness=-5.0 - worse - 0.01 * (n % 3),
        )
        for day in range(3)
        for worse in (0, 1)
        for n in range(20)
    ]
    watched = [
        make_record(900 + n, operator='op0', checkpoint='abc', seconds=100.0) for n in range(9)
    ]
    fresh, tired = told(filled(tmp_path, [*records, *watched]), 'operators')
    assert (fresh['episodes'], fresh['duration_s']) == (60, 10.0)
    assert float(fresh['smoothness'].split()[0]) > float(tired['smoothness'].split()[0])
    assert fresh['slower_per_episode'] == '+0.0 % [+0.0, +0.0]'
    assert tired['slower_per_episode'].startswith('+2.0 %')


@pytest.mark.parametrize('question', QUESTIONS)
def test_every_question_has_a_command_and_answers_an_empty_catalog(
    tmp_path: Path, question: str, capsys: pytest.CaptureFixture[str]
) -> None:
    open_catalog(tmp_path)
    assert main(['ask', question, str(tmp_path), '--json']) is Exit.OK
    assert json.loads(capsys.readouterr().out) == []


def test_near_copies_are_listed_with_what_they_are_like(tmp_path: Path) -> None:
    ways = [0.0, 0.3, 0.6, 0.9, 1.2, 0.61]
    engine = filled(tmp_path, [make_record(n, outline=way) for n, way in enumerate(ways)])
    (row,) = told(engine, 'copies')
    assert (row['path'], row['distance_rad']) == ('/data/e5', 0.01)
    assert row['like'] == make_record(2).episode_id


def test_episodes_are_counted_per_cluster_of_starts(tmp_path: Path) -> None:
    places = [(0.2, 0.0)] * 3 + [(0.1, -0.1)] * 2
    engine = filled(tmp_path, [make_record(n, xy=xy) for n, xy in enumerate(places)])
    found = told(engine, 'starts', count=2)
    assert [(row['start'], row['episodes']) for row in found] == [
        ('0.200 0.000 0.000', 3), ('0.100 -0.100 0.000', 2)
    ]


def test_the_model_on_the_robot_leads_to_its_manifest(tmp_path: Path) -> None:
    engine = filled(
        tmp_path, [make_record(0, checkpoint='old'), make_record(1, day=2, checkpoint='new')]
    )
    (row,) = told(engine, 'deployed')
    assert (row['checkpoint'], row['manifest']) == ('new', None)
    with engine.begin() as connection:
        upsert(connection, MANIFESTS, [{'hash': 'm1', 'name': 'first', 'path': '/m'}])
        upsert(connection, MODELS, [
            {'checkpoint': 'new', 'manifest': 'm1', 'file': 'p.onnx', 'metrics': '{}'}
        ])
    assert told(engine, 'deployed')[0]['manifest'] == 'first'

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What people say of episodes is only ever added, can be undone, and changes no bag."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from curation.catalog.annotations import (
    annotate,
    FILE_NAME,
    read_annotations,
    replay,
    Reviewed,
    What,
)
from curation.catalog.database import open_catalog
from curation.catalog.ingest import write_records
from curation.catalog.reviewed import annotations_of, take_annotations
from curation.catalog.tables import EPISODES, INTERVENTIONS
from curation.exceptions import AnnotationError
from support.records import make_record


def state(folder: Path, episode: str = 'e') -> Reviewed:
    return replay(entry for _, entry in read_annotations(folder / FILE_NAME))[episode]


def test_the_last_word_counts_and_undo_brings_the_word_before_back(tmp_path: Path) -> None:
    annotate(tmp_path, 'e', What.GRADE, 'failure', by='a')
    second = annotate(tmp_path, 'e', What.GRADE, 'partial', by='b')
    annotate(tmp_path, 'e', What.VERDICT, 'drop', by='b')
    annotate(tmp_path, 'e', What.NOTE, 'cube slipped', by='b')
    annotate(tmp_path, 'e', What.SPAN, {'start_s': 0, 'end_s': 2.5, 'goal': 'grasp'}, by='b')
    assert state(tmp_path).grade == 'partial'
    undo = annotate(tmp_path, 'e', What.UNDO, second.id, by='c')
    assert state(tmp_path).grade == 'failure'
    annotate(tmp_path, 'e', What.UNDO, undo.id, by='c')
    found = state(tmp_path)
    assert (found.grade, found.verdict, found.notes) == ('partial', 'drop', ['cube slipped'])
    assert found.spans[0]['goal'] == 'grasp'


def test_adding_leaves_what_is_there_untouched(tmp_path: Path) -> None:
    annotate(tmp_path, 'e', What.NOTE, 'one', by='a')
    before = (tmp_path / FILE_NAME).read_bytes()
    annotate(tmp_path, 'e', What.NOTE, '"; \N{PILE OF POO}\n<b>' + 300 * 'x', by='a')
    assert (tmp_path / FILE_NAME).read_bytes().startswith(before)
    assert state(tmp_path).notes[1].startswith('"; \N{PILE OF POO}\n<b>')


def test_a_torn_line_is_left_behind(tmp_path: Path) -> None:
    annotate(tmp_path, 'e', What.NOTE, 'one', by='a')
    with (tmp_path / FILE_NAME).open('ab') as file:
        file.write(b'{"id": "x", "epi')
    annotate(tmp_path, 'e', What.NOTE, 'two', by='a')
    assert state(tmp_path).notes == ['one', 'two']


def _annotate_often(folder: Path, who: str) -> None:
    for number in range(50):
        annotate(folder, 'e', What.NOTE, f'{who} {number}', by=who)


def test_people_annotate_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context('spawn')
    people = [context.Process(target=_annotate_often, args=(tmp_path, who)) for who in 'ab']
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert len(state(tmp_path).notes) == 100


@pytest.mark.parametrize(
    ('what', 'value'),
    [
        (What.GRADE, 'great'),
        (What.VERDICT, 'maybe'),
        (What.NOTE, ''),
        (What.REASON, {'intervention': 'i', 'kind': 'whim', 'reason': 'x'}),
        (What.SPAN, {'start_s': 3, 'end_s': 2, 'goal': 'x'}),
    ],
)
def test_nonsense_is_refused(tmp_path: Path, what: What, value: Any) -> None:
    with pytest.raises(AnnotationError, match='expected'):
        annotate(tmp_path, 'e', what, value, by='a')
    assert not (tmp_path / FILE_NAME).exists()


def test_nobody_can_not_annotate(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match='expected who says it'):
        annotate(tmp_path, 'e', What.NOTE, 'x', by='')


def fields(engine: Engine) -> tuple[str, str, str, str]:
    with engine.begin() as connection:
        e, i = EPISODES.c, INTERVENTIONS.c
        query = select(e.grade, e.verdict, i.kind, i.reason).join(INTERVENTIONS)
        return tuple(connection.execute(query).one())


def test_the_catalog_shows_what_was_said_and_forgets_what_was_undone(tmp_path: Path) -> None:
    record = make_record(1, checkpoint='abc', reasons=(('', ''),))
    engine = open_catalog(tmp_path)
    with engine.begin() as connection:
        write_records(connection, [record])
    named = {'intervention': 'i0', 'kind': 'goal', 'reason': 'wrong grasp'}
    said = [
        annotate(tmp_path, record.episode_id, what, value, by='a')
        for what, value in ((What.GRADE, 'failure'), (What.VERDICT, 'drop'), (What.REASON, named))
    ]
    with engine.begin() as connection:
        take_annotations(connection, [tmp_path])
        assert [entry.id for entry in annotations_of(connection, record.episode_id)] == [
            entry.id for entry in said
        ]
    assert fields(engine) == ('failure', 'drop', 'goal', 'wrong grasp')
    with engine.begin() as connection:
        write_records(connection, [record])  # ingested again: what was said still holds
    assert fields(engine) == ('failure', 'drop', 'goal', 'wrong grasp')
    for entry in said:
        annotate(tmp_path, record.episode_id, What.UNDO, entry.id, by='b')
    with engine.begin() as connection:
        take_annotations(connection, [tmp_path])
    assert fields(engine) == ('success_first_try', '', '', '')


def test_a_catalog_of_the_first_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    from alembic import command

    from curation.catalog.database import migrations

    engine = open_catalog(tmp_path)
    with engine.begin() as connection:
        config = migrations()
        config.attributes['connection'] = connection
        command.downgrade(config, '0001')
    with open_catalog(tmp_path).begin() as connection:
        assert connection.execute(text('SELECT count(*) FROM annotations')).scalar_one() == 0

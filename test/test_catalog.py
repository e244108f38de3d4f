# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The catalog holds what the bags say, whoever ingests how often, in SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
import json
import multiprocessing
from pathlib import Path
import shutil
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
import pytest
from sqlalchemy import create_engine, Engine, func, select, text

pytest.importorskip('mujoco', reason='the simulated rig needs pip install mujoco')

from curation.catalog.database import FILE_NAME, open_catalog
from curation.catalog.ingest import clear, ingest, write_records
from curation.catalog.record import read_record
from curation.catalog.tables import EPISODES, METADATA, SCORES
from curation.cli.exits import Exit
from curation.cli.main import main
from curation.exceptions import CatalogError
from curation.work import ProcessExecutor
from recorder.headless import Attempt, Driver
from support.postgres import postgres
from support.simulated import simulate
from teleop_bridge.exceptions import MissingDependencyError


@pytest.fixture(scope='module')
def bags(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('bags')
    simulate(folder, [Attempt(1), Attempt(2), Attempt(3, driver=Driver.CORRECTED)])
    return folder


@pytest.fixture(scope='module')
def server() -> Iterator[str]:
    with postgres() as url:
        yield url


@pytest.fixture(params=['sqlite', 'postgresql'])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == 'sqlite':
        return str(tmp_path / 'catalog.sqlite')
    url: str = request.getfixturevalue('server')
    engine = create_engine(url.replace('postgresql', 'postgresql+psycopg', 1))
    with engine.begin() as connection:
        connection.execute(text('DROP SCHEMA public CASCADE'))
        connection.execute(text('CREATE SCHEMA public'))
    engine.dispose()
    return url


def rows(engine: Engine) -> dict[str, list[Any]]:
    with engine.begin() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table)).all()))
            for table in METADATA.sorted_tables
        }


def count(engine: Engine) -> int:
    with engine.begin() as connection:
        return connection.execute(select(func.count()).select_from(EPISODES)).scalar_one()


def test_ingesting_again_reads_nothing_and_a_rebuild_gives_the_same_rows(
    bags: Path, where: str
) -> None:
    engine = open_catalog(where)
    assert ingest(engine, [bags]).added == 3
    once = rows(engine)
    again = ingest(engine, [bags])
    assert (again.added, again.known) == (0, 3)
    assert rows(engine) == once
    clear(engine)
    assert count(engine) == 0
    ingest(engine, [bags], executor_for=lambda bags: ProcessExecutor(2))
    assert rows(engine) == once
    assert all(once[table] for table in ('interventions', 'scores', 'findings', 'policies'))


def _ingest_in_a_process(where: str, bags: list[Path]) -> None:
    ingest(open_catalog(where), bags)


def test_several_processes_ingest_at_once_into_a_new_catalog(bags: Path, where: str) -> None:
    each = sorted(path for path in bags.glob('*/*') if path.is_dir())
    context = multiprocessing.get_context('spawn')
    orders = [each, each[::-1], each[1:] + each[:1]]
    workers = [context.Process(target=_ingest_in_a_process, args=(where, o)) for o in orders]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    together = open_catalog(where)
    found = rows(together)
    clear(together)
    ingest(together, [bags])
    assert rows(together) == found


def test_an_interrupted_ingest_goes_on_where_it_was(
    bags: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('curation.catalog.ingest._BATCH', 1)
    engine = open_catalog(where)

    def interrupt(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(engine, [bags], advance=interrupt)
    assert count(engine) == 2
    rest = ingest(engine, [bags])
    assert (rest.added, rest.known) == (1, 2)


def test_a_copy_is_no_second_episode_and_a_bag_that_is_gone_is_forgotten(
    bags: Path, tmp_path: Path
) -> None:
    data = tmp_path / 'data'
    shutil.copytree(bags, data)
    first = min(path for path in data.glob('*/*') if path.is_dir())
    shutil.copytree(first, data / 'z_copy')
    engine = open_catalog(data)
    assert ingest(engine, [data]).added == 4
    assert count(engine) == 3
    with engine.begin() as connection:
        assert str(first) in connection.execute(select(EPISODES.c.path)).scalars().all()
    shutil.rmtree(first)
    ingest(engine, [data])
    with engine.begin() as connection:
        paths = connection.execute(select(EPISODES.c.path)).scalars().all()
        assert len(paths) == 3
        assert str(data / 'z_copy') in paths
    shutil.rmtree(data / 'z_copy')
    ingest(engine, [data])
    assert count(engine) == 2
    with engine.begin() as connection:
        assert connection.execute(select(func.count()).select_from(SCORES)).scalar_one() == 2


def test_an_unreadable_bag_is_named_and_read_again_once_it_is_whole(
    bags: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / 'data'
    shutil.copytree(bags, data)
    file = min(data.rglob('*.mcap'))
    whole = file.read_bytes()
    file.write_bytes(b'no bag')
    assert main(['ingest', str(data), '--json']) is Exit.BAD_DATA
    told = json.loads(capsys.readouterr().out)
    assert told['added'] == 2
    assert [str(file.parent)] == list(told['failures'])
    file.write_bytes(whole)
    assert main(['ingest', str(data), '--json']) is Exit.OK
    assert json.loads(capsys.readouterr().out) == {'added': 1, 'known': 2, 'failures': {}}


def test_hostile_names_come_back_as_they_were(bags: Path, where: str) -> None:
    name = '"; DROP TABLE episodes; --\'<b>../../\N{PILE OF POO}' + 300 * 'n'
    record = read_record(next(path for path in bags.glob('*/*') if path.is_dir()))
    record.tables['episodes'][0].update(note=name + '\0\udc80', name=name, path=name)
    record.tables['tasks'][0]['name'] = record.tables['episodes'][0]['task'] = name
    engine = open_catalog(where)
    with engine.begin() as connection:
        write_records(connection, [record])
        (row,) = connection.execute(select(EPISODES)).mappings().all()
    assert row['name'] == row['path'] == row['task'] == name
    assert row['note'].startswith(name)


def test_the_migrations_make_the_tables_that_the_code_knows(where: str) -> None:
    with open_catalog(where).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_a_newer_catalog_is_refused(tmp_path: Path) -> None:
    with open_catalog(tmp_path).begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(CatalogError, match="found '9999' of a newer one"):
        open_catalog(tmp_path)


def test_a_data_folder_that_was_copied_with_its_catalog_leads_to_the_copy(
    bags: Path, tmp_path: Path
) -> None:
    shutil.copytree(bags, tmp_path / 'old')
    ingest(open_catalog(tmp_path / 'old'), [tmp_path / 'old'])
    shutil.copytree(tmp_path / 'old', tmp_path / 'new')
    shutil.rmtree(tmp_path / 'old')
    engine = open_catalog(tmp_path / 'new')
    ingest(engine, [tmp_path / 'new'])
    with engine.begin() as connection:
        paths = connection.execute(select(EPISODES.c.path)).scalars().all()
    assert all(Path(path).is_relative_to(tmp_path / 'new') for path in paths)


def test_what_is_no_catalog_is_refused(tmp_path: Path) -> None:
    (tmp_path / 'x.sqlite').write_text('a text, which is no database at all' * 50)
    with pytest.raises(CatalogError, match=r'x\.sqlite: expected a catalog'):
        open_catalog(tmp_path / 'x.sqlite')
    with pytest.raises(MissingDependencyError):
        open_catalog('nosuch://host/db')


def test_asking_without_a_catalog_says_how_to_make_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['ask', 'sizes', str(tmp_path)]) is Exit.BAD_DATA
    assert 'flywheel ingest' in capsys.readouterr().err
    assert not (tmp_path / FILE_NAME).exists()

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Open a catalog, SQLite in the data folder or PostgreSQL by URL, at the newest schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, Engine, event, func, Table, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from curation.exceptions import CatalogError
from teleop_bridge.exceptions import MissingDependencyError

FILE_NAME = 'catalog.sqlite'
_PATIENCE_S = 60  # SQLite: how long to wait for another process that writes
_MOST_VALUES = 10_000  # of one statement
_MIGRATING, _WRITING = 0x7F1EE1, 0x7F1EE2  # PostgreSQL's advisory locks: schema, rows


def open_catalog(where: str | Path) -> Engine:
    """Open the catalog of a data folder, an SQLite file or a database URL; make it if new.

    Raises CatalogError where it can't be opened or was made by a newer version.
    """
    url = _url(where)
    try:
        engine = create_engine(url)
        if engine.dialect.name == 'sqlite':
            _make_safe(engine)
        with engine.begin() as connection:
            _migrate(connection, str(where))
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise MissingDependencyError(f'{where}: needs pip install psycopg ({error})') from error
    except (SQLAlchemyError, ArgumentError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise CatalogError(
            f'{where}: expected a catalog or a place for one, found {reason}'
        ) from error
    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Begin a transaction that writes, one at a time, so that none can deadlock with another.

    Reading bags takes far longer than writing what was found, and SQLite allows no more anyway.
    """
    with engine.begin() as connection:
        if connection.dialect.name == 'postgresql':
            connection.execute(text(f'SELECT pg_advisory_xact_lock({_WRITING})'))
        yield connection


def upsert(
    connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, merge: bool = False
) -> None:
    """Insert rows, in place of those with the same primary key.

    With ``merge`` the greater of each column's two values stays, whoever comes first.
    """
    if not rows:
        return
    postgres = connection.dialect.name == 'postgresql'
    insert: Any = postgresql.insert if postgres else sqlite.insert
    greater = func.greatest if postgres else func.max
    statement = insert(table)
    keys = [column.name for column in table.primary_key]
    others = {c.name: statement.excluded[c.name] for c in table.columns if c.name not in keys}
    if merge:
        others = {name: greater(table.c[name], value) for name, value in others.items()}
    if others:
        statement = statement.on_conflict_do_update(index_elements=keys, set_=others)
    else:
        statement = statement.on_conflict_do_nothing(index_elements=keys)
    connection.execute(statement, [{k: storable(v) for k, v in row.items()} for row in rows])


def chunks(ids: Iterable[str]) -> Iterator[list[str]]:
    """Yield ids in parts that fit in one statement, always in the same order."""
    ordered = sorted(set(ids))
    for begin in range(0, len(ordered), _MOST_VALUES):
        yield ordered[begin : begin + _MOST_VALUES]


def storable(value: Any) -> Any:
    """Return a value that every database takes: texts without NUL and lone surrogates."""
    if not isinstance(value, str):
        return value
    return value.replace('\0', '\N{REPLACEMENT CHARACTER}').encode(errors='replace').decode()


def migrations() -> Config:
    """Return Alembic's configuration; it needs no file."""
    config = Config()
    config.set_main_option('script_location', 'curation.catalog:migrations')
    return config


def _url(where: str | Path) -> str:
    text_ = str(where)
    if '://' in text_:
        return text_.replace('postgresql://', 'postgresql+psycopg://', 1)
    path = Path(where)
    return f'sqlite:///{path / FILE_NAME if path.is_dir() else path}'


def _make_safe(engine: Engine) -> None:
    """Let several processes write: the driver's own transactions would begin too late."""

    @event.listens_for(engine, 'connect')
    def connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        connection.execute(f'PRAGMA busy_timeout = {_PATIENCE_S * 1000}')
        connection.execute('PRAGMA journal_mode = WAL')
        connection.execute('PRAGMA synchronous = NORMAL')
        connection.execute('PRAGMA foreign_keys = ON')

    @event.listens_for(engine, 'begin')
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql('BEGIN IMMEDIATE')


def _migrate(connection: Connection, where: str) -> None:
    if connection.dialect.name == 'postgresql':
        connection.execute(text(f'SELECT pg_advisory_xact_lock({_MIGRATING})'))
    config = migrations()
    scripts = ScriptDirectory.from_config(config)
    found = MigrationContext.configure(connection).get_current_revision()
    if found == scripts.get_current_head():
        return
    known = {script.revision for script in scripts.walk_revisions()}
    if found is not None and found not in known:
        raise CatalogError(
            f"{where}: expected a schema this version knows, found '{found}' of a newer one"
        )
    config.attributes['connection'] = connection
    command.upgrade(config, 'head')

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Bring bags into the catalog: in parallel, resumable, and twice the same as once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, Engine, select, update

from curation.bag.find import find_bags
from curation.catalog.database import chunks, upsert, writing
from curation.catalog.record import read_record, Record, Row, size_of
from curation.catalog.reviewed import apply_annotations, take_annotations
from curation.catalog.tables import (
    EPISODES,
    FILES,
    FINDINGS,
    INTERVENTIONS,
    METADATA,
    SCORES,
    STREAMS,
)
from curation.manifests.models import take_manifests
from curation.work import Executor, Failure, SerialExecutor
from teleop_bridge.rig.schema import Rig

_BATCH = 32  # episodes a transaction: what an interruption can cost
_SHARED = ('operators', 'tasks', 'rigs', 'policies', 'sessions', 'episodes')  # parents first
_OWNED = (STREAMS, INTERVENTIONS, SCORES, FINDINGS)


@dataclass(frozen=True)
class Ingested:
    """How many bags were read or known already, and those that can't be read, by path."""

    added: int
    known: int
    failures: dict[str, str]


def ingest(
    engine: Engine,
    paths: Sequence[Path],
    rig: Rig | None = None,
    *,
    source: str = '',
    executor_for: Callable[[int], Executor] = lambda bags: SerialExecutor(),
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Ingested:
    """Read the bags that are new or changed; a bag that fails is named and does not stop it.

    ``executor_for`` chooses where, by how many there are to read.
    """
    bags = [path.absolute() for path in find_bags(paths)]
    states = {str(bag): _state(bag) for bag in bags}
    with writing(engine) as connection:
        _forget_gone(connection, paths, bags)
        rows = connection.execute(select(FILES)).mappings()
        seen = {r['path']: (r['bytes'], r['changed_ns']) for r in rows if not r['error']}
    todo = [bag for bag in bags if seen.get(str(bag)) != states[str(bag)]]
    known, failures = len(bags) - len(todo), {}
    pending: list[tuple[Record | None, Row]] = []
    read = partial(read_record, rig=rig, source=source)
    results = executor_for(len(todo)).run(read, todo)
    for done, (bag, found) in enumerate(zip(todo, results, strict=True), 1):
        size, changed_ns = states[str(bag)]
        record = found if isinstance(found, Record) else None
        error = found.about(bag) if isinstance(found, Failure) else ''
        if error:
            failures[str(bag)] = error
        file = {'path': str(bag), 'bytes': size, 'changed_ns': changed_ns, 'error': error}
        pending.append((record, {**file, 'episode_id': record.episode_id if record else ''}))
        if len(pending) >= _BATCH:
            _write(engine, pending)
            pending = []
        advance(known + done, len(bags))
    _write(engine, pending)
    with writing(engine) as connection:
        take_annotations(connection, data_folders(paths))
        take_manifests(connection, data_folders(paths))
    return Ingested(len(todo) - len(failures), known, failures)


def data_folders(paths: Sequence[Path]) -> list[Path]:
    """Return the folders among the paths: those that have small files beside their bags."""
    return sorted({path.absolute() for path in paths if path.is_dir()})


def clear(engine: Engine) -> None:
    """Throw every row away; the bags give them back."""
    with writing(engine) as connection:
        for table in reversed(METADATA.sorted_tables):
            connection.execute(delete(table))


def write_records(connection: Connection, records: Iterable[Record]) -> None:
    """Write episodes in place of what was known of them."""
    records = sorted(records, key=lambda record: record.episode_id)
    ids = [record.episode_id for record in records]
    for table in _OWNED:
        connection.execute(delete(table).where(table.c.episode_id.in_(ids)))
    for name in _SHARED:
        table = METADATA.tables[name]
        keys = [column.name for column in table.primary_key]
        rows = {tuple(row[k] for k in keys): row for r in records for row in r.tables[name]}
        upsert(connection, table, [rows[key] for key in sorted(rows)], merge=name != 'episodes')
    for table in _OWNED:
        upsert(connection, table, [row for r in records for row in r.tables[table.name]])
    apply_annotations(connection, ids)


def _state(bag: Path) -> tuple[int, int]:
    """Return a bag's size and the newest change of its files, ns."""
    files: list[Any] = [bag] if bag.is_file() else [e for e in bag.rglob('*') if e.is_file()]
    return size_of(bag), max((file.stat().st_mtime_ns for file in files), default=0)


def _write(engine: Engine, pending: Sequence[tuple[Record | None, Row]]) -> None:
    if not pending:
        return
    with writing(engine) as connection:
        write_records(connection, [record for record, _ in pending if record])
        files = sorted((file for _, file in pending), key=lambda file: str(file['path']))
        paths = [str(file['path']) for file in files]
        earlier = select(FILES.c.episode_id).where(FILES.c.path.in_(paths))
        ids = {*connection.execute(earlier).scalars(), *(str(f['episode_id']) for f in files)}
        upsert(connection, FILES, files)
        _settle(connection, ids)


def _forget_gone(connection: Connection, paths: Sequence[Path], bags: Sequence[Path]) -> None:
    """Forget files under paths that are there no longer, and episodes that have no other."""
    roots, found = [path.absolute() for path in paths], {str(bag) for bag in bags}
    known = connection.execute(select(FILES.c.path, FILES.c.episode_id)).all()
    gone = [
        (path, episode_id)
        for path, episode_id in known
        if path not in found and any(Path(path).is_relative_to(root) for root in roots)
    ]
    for path, _ in gone:
        connection.execute(delete(FILES).where(FILES.c.path == path))
    _settle(connection, {episode_id for _, episode_id in gone})


def _settle(connection: Connection, ids: Collection[str]) -> None:
    """Say where each episode is, and forget those that are nowhere any more.

    Of several copies the first by name of those that this machine can reach.
    """
    for part in chunks(ids):
        places: dict[str, list[str]] = defaultdict(list)
        held = select(FILES.c.episode_id, FILES.c.path).where(FILES.c.episode_id.in_(part))
        for episode_id, path in connection.execute(held):
            places[episode_id].append(path)
        for episode_id in part:
            own = EPISODES.c.id == episode_id
            if not places[episode_id]:
                connection.execute(delete(EPISODES).where(own))
                continue
            path = min(places[episode_id], key=lambda path: (not Path(path).exists(), path))
            connection.execute(update(EPISODES).where(own).values(path=path))

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Annotations in the catalog: read from their files, and applied to the rows of episodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
import json
from pathlib import Path

from sqlalchemy import Connection, delete, select, update

from curation.catalog.annotations import (
    Annotation,
    FILE_NAME,
    read_annotations,
    replay,
    Reviewed,
    What,
)
from curation.catalog.database import chunks, upsert
from curation.catalog.tables import ANNOTATIONS, EPISODES, INTERVENTIONS


def take_annotations(connection: Connection, folders: Iterable[Path]) -> None:
    """Bring the folders' annotations into the catalog, and apply them."""
    touched: set[str] = set()
    for folder in folders:
        path = folder / FILE_NAME
        known = connection.execute(
            delete(ANNOTATIONS).where(ANNOTATIONS.c.file == str(path)).returning(
                ANNOTATIONS.c.episode_id)
        ).scalars()
        touched |= set(known)
        rows = [
            {
                'id': entry.id,
                'file': str(path),
                'position': number,
                'episode_id': entry.episode_id,
                'at': entry.at,
                'by': entry.by,
                'what': entry.what.value,
                'value': json.dumps(entry.value),
            }
            for number, entry in read_annotations(path)
        ]
        upsert(connection, ANNOTATIONS, sorted(rows, key=lambda row: str(row['id'])))
        touched |= {str(row['episode_id']) for row in rows}
    apply_annotations(connection, touched)


def apply_annotations(connection: Connection, ids: Collection[str]) -> None:
    """Set what was recorded of these episodes, then what was said of them afterwards."""
    for episode_id, state in reviewed(connection, ids).items():
        grade = EPISODES.c.recorded_grade if state.grade is None else state.grade
        connection.execute(
            update(EPISODES).where(EPISODES.c.id == episode_id).values(
                grade=grade, verdict=state.verdict)
        )
        own = INTERVENTIONS.c.episode_id == episode_id
        connection.execute(
            update(INTERVENTIONS).where(own).values(
                kind=INTERVENTIONS.c.recorded_kind, reason=INTERVENTIONS.c.recorded_reason)
        )
        for intervention, (kind, reason) in sorted(state.reasons.items()):
            connection.execute(
                update(INTERVENTIONS).where(own, INTERVENTIONS.c.id == intervention).values(
                    kind=kind, reason=reason)
            )


def annotations_of(connection: Connection, episode_id: str) -> list[Annotation]:
    """Return what was said of one episode, oldest first."""
    return _read(connection, [episode_id])


def reviewed(connection: Connection, ids: Collection[str]) -> dict[str, Reviewed]:
    """Return what holds of episodes after their annotations; of those that have any."""
    return replay(_read(connection, ids))


def _read(connection: Connection, ids: Collection[str]) -> list[Annotation]:
    a = ANNOTATIONS.c
    columns = select(a.id, a.episode_id, a.at, a.by, a.what, a.value, a.file, a.position)
    rows = [
        row
        for part in chunks(ids)
        for row in connection.execute(columns.where(a.episode_id.in_(part)))
    ]
    return [
        Annotation(row.id, row.episode_id, row.at, row.by, What(row.what), json.loads(row.value))
        for row in sorted(rows, key=lambda row: (row.at, row.file, row.position))
    ]

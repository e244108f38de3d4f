# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""From a checkpoint to the bytes of every episode that made it, and from an episode back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select

from curation.bag.reader import open_bag
from curation.catalog.answer import Answer, answer
from curation.catalog.tables import EPISODES, MANIFEST_EPISODES, MANIFESTS, MODELS, RIGS
from curation.exceptions import ManifestError
from curation.manifests.file import Manifest
from teleop_bridge.exceptions import FlywheelError


@dataclass(frozen=True)
class Verified:
    """What re-hashing found: bags as frozen, and by episode what is wrong with the others."""

    good: int
    wrong: dict[str, str]


def made_by(connection: Connection, checkpoint: str) -> Answer:
    """Return every episode, its operator, rig and bag, that trained a checkpoint.

    ``checkpoint`` is its hash or the beginning of it; raises ManifestError where none is known.
    """
    e, m = EPISODES.c, MANIFEST_EPISODES.c
    query = (
        select(MODELS.c.checkpoint, MANIFESTS.c.name, m.manifest, m.position, m.split, m.weight,
               m.episode_id, e.operator_id, e.session_id, e.rig_id, RIGS.c.name, e.path, e.bytes)
        .join(MANIFESTS, MANIFESTS.c.hash == MODELS.c.manifest)
        .join(MANIFEST_EPISODES, m.manifest == MODELS.c.manifest)
        .outerjoin(EPISODES, e.id == m.episode_id)
        .outerjoin(RIGS, RIGS.c.id == e.rig_id)
        .where(MODELS.c.checkpoint.startswith(checkpoint, autoescape=True))
        .order_by(MODELS.c.checkpoint, m.manifest, m.position)
    )
    rows = connection.execute(query).all()
    if not rows:
        raise ManifestError(f"no registered model's checkpoint begins with '{checkpoint}'")
    return answer(
        'checkpoint manifest manifest_hash position split weight episode operator session '
        'rig_hash rig path bytes',
        rows,
        'path and bytes are empty where the catalog no longer knows the episode',
    )


def seen_by(connection: Connection, episode: str) -> Answer:
    """Return which models saw an episode, in which split of which manifest, and how weighed."""
    m = MANIFEST_EPISODES.c
    query = (
        select(m.episode_id, MANIFESTS.c.name, m.manifest, m.split, m.weight, MODELS.c.checkpoint,
               MODELS.c.file)
        .join(MANIFESTS, MANIFESTS.c.hash == m.manifest)
        .outerjoin(MODELS, MODELS.c.manifest == m.manifest)
        .where(m.episode_id.startswith(episode, autoescape=True))
        .order_by(m.episode_id, MANIFESTS.c.name, MODELS.c.checkpoint)
    )
    return answer(
        'episode manifest manifest_hash split weight checkpoint file',
        connection.execute(query).all(),
    )


def paths_of(connection: Connection, manifest: Manifest) -> dict[str, Path]:
    """Return where the catalog knows the bags of a manifest's episodes, by id."""
    wanted = {entry.id for entry in manifest.episodes}
    rows = connection.execute(select(EPISODES.c.id, EPISODES.c.path))
    return {key: Path(path) for key, path in rows if key in wanted}


def verify(
    manifest: Manifest,
    places: dict[str, Path],
    *,
    jobs: int = 1,
    advance: Callable[[int, int], None] = lambda done, total: None,
) -> Verified:
    """Read every bag again and compare its content's hash with what was frozen."""
    entries = manifest.episodes
    wrong: dict[str, str] = {}
    with ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda entry: _wrong(entry.id, places.get(entry.id)), entries)
        for done, (entry, problem) in enumerate(zip(entries, found, strict=True), 1):
            if problem:
                wrong[entry.id] = f'{entry.name}: {problem}'
            advance(done, len(entries))
    return Verified(len(entries) - len(wrong), wrong)


def places_among(bags: Sequence[Path]) -> dict[str, Path]:
    """Return bags by their contents' ids, by reading them whole."""
    places: dict[str, Path] = {}
    for bag in bags:
        places.setdefault(_content(bag), bag)
    return places


def _wrong(expected: str, bag: Path | None) -> str:
    if bag is None:
        return 'expected its bag, found none'
    try:
        found = _content(bag)
    except (FlywheelError, OSError) as error:
        return f'{bag}: can not be read ({error})'
    return '' if found == expected else (
        f'{bag}: expected content {expected[:12]}, found {found[:12]}'
    )


def _content(path: Path) -> str:
    with open_bag(path) as bag:
        return bag.content_id

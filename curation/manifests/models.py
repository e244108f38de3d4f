# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The model registry: which manifest made which checkpoint, a line each in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
import hashlib
import json
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete

from curation.catalog.database import upsert
from curation.catalog.tables import MANIFEST_EPISODES, MANIFESTS, MODELS
from curation.exceptions import ManifestError
from curation.json_lines import append_line, read_lines
from curation.manifests.file import find_manifests, load, Manifest

FILE_NAME = 'models.jsonl'  # in the data folder


@dataclass(frozen=True)
class Model:
    """``checkpoint`` is the SHA-256 of its file, as bags name what drove; ``at`` UTC, ISO 8601."""

    checkpoint: str
    file: str
    manifest: str
    metrics: Mapping[str, Any]
    at: str


def checkpoint_hash(path: Path) -> str:
    """Return the SHA-256 of a checkpoint's file."""
    try:
        with path.open('rb') as file:
            return hashlib.file_digest(file, 'sha256').hexdigest() if hasattr(
                hashlib, 'file_digest') else hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise ManifestError(f'{path}: checkpoint can not be read ({error.strerror})') from error


def register_model(
    folder: Path, checkpoint: Path, manifest: Manifest, metrics: Mapping[str, Any]
) -> Model:
    """Add a line to the folder's registry and return it; the manifest must be in the folder."""
    known = {load(path).hash for path in find_manifests(folder)}
    if manifest.hash not in known:
        raise ManifestError(
            f"{folder}: expected manifest '{manifest.name}' ({manifest.hash[:12]}) among its "
            f'manifests, found {len(known)} others'
        )
    model = Model(
        checkpoint_hash(checkpoint), checkpoint.name, manifest.hash, dict(metrics),
        datetime.now(timezone.utc).isoformat(timespec='seconds'),
    )
    append_line(folder / FILE_NAME, json.dumps(asdict(model)).encode())
    return model


def read_models(folder: Path) -> list[Model]:
    """Return a folder's registered models, oldest first; ManifestError for a line that is none."""
    path = folder / FILE_NAME
    models = []
    for number, content in read_lines(path):
        try:
            models.append(Model(**content))
        except TypeError as error:
            raise ManifestError(f'{path} line {number}: expected a model ({error})') from error
    return models


def take_manifests(connection: Connection, folders: Iterable[Path]) -> None:
    """Bring the folders' manifests and models into the catalog, in place of what it knew."""
    for folder in folders:
        for path in find_manifests(folder):
            take_manifest(connection, load(path), path)
        upsert(
            connection,
            MODELS,
            [
                {
                    'checkpoint': model.checkpoint,
                    'manifest': model.manifest,
                    'file': model.file,
                    'metrics': json.dumps(model.metrics, sort_keys=True),
                }
                for model in read_models(folder)
            ],
        )


def take_manifest(connection: Connection, manifest: Manifest, path: Path) -> None:
    """Bring one manifest into the catalog."""
    number = manifest.hash
    row = {'hash': number, 'name': manifest.name, 'path': str(path.absolute())}
    upsert(connection, MANIFESTS, [row])
    connection.execute(delete(MANIFEST_EPISODES).where(MANIFEST_EPISODES.c.manifest == number))
    upsert(
        connection,
        MANIFEST_EPISODES,
        [
            {
                'manifest': number,
                'position': position,
                'episode_id': entry.id,
                'split': entry.split,
                'weight': entry.weight,
            }
            for position, entry in enumerate(manifest.episodes)
        ],
    )

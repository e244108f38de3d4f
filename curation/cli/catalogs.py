# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The arguments of verbs that work on a data folder and its catalog."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from curation.catalog.database import FILE_NAME, open_catalog, writing
from curation.exceptions import CatalogError
from curation.manifests.file import Manifest
from curation.manifests.models import Model, register_model, take_manifests


def add_data(parser: argparse.ArgumentParser) -> None:
    """Declare the data folder and where its catalog is."""
    parser.add_argument('data', type=Path, help='folder with the bags and their small files')
    parser.add_argument('--catalog', default='', help='file or URL, unless it is in the folder')


def catalog_of(arguments: argparse.Namespace) -> Engine:
    """Open the catalog of a data folder; CatalogError where there is none yet."""
    return existing_catalog(arguments.catalog or str(arguments.data))


def existing_catalog(where: str) -> Engine:
    """Open a catalog by folder, file or URL; CatalogError where there is none yet."""
    path = Path(where)
    file = path / FILE_NAME if path.is_dir() else path
    if '://' not in where and not file.exists():
        raise CatalogError(f"{file}: no such catalog; 'flywheel ingest {where}' makes one")
    return open_catalog(where)


def register(
    data: Path,
    checkpoint: Path,
    manifest: Manifest,
    metrics: Mapping[str, Any],
    *,
    catalog: str = '',
) -> Model:
    """Add a model to a data folder's registry, and to its catalog where there is one."""
    model = register_model(data, checkpoint, manifest, metrics)
    if catalog or (data / FILE_NAME).exists():
        with writing(open_catalog(catalog or data)) as connection:
            take_manifests(connection, [data])
    return model

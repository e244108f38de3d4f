# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Find bags in folders of bags."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from curation.bag.files import STORAGE_SUFFIXES
from curation.exceptions import BagError
from recorder.bag.metadata import FILE_NAME
from recorder.episode import DISCARDED


def find_bags(paths: Iterable[Path]) -> list[Path]:
    """Return the bags that ``paths`` are or hold, in order of name.

    A folder with a metadata.yaml or storage files is a bag; other folders are searched, but for
    hidden and discarded ones. Raises BagError for a path that is none and holds none.
    """
    found: list[Path] = []
    for path in paths:
        bags = list(_search(path))
        if not bags:
            raise BagError(f'{path}: expected a bag or a folder of bags, found none')
        found += bags
    return found


def _search(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        yield path  # opening it tells what is wrong with it, if anything is
        return
    entries = sorted(path.iterdir())
    if any(entry.name == FILE_NAME or entry.name.endswith(STORAGE_SUFFIXES) for entry in entries):
        yield path
        return
    for entry in entries:
        if entry.is_dir() and not entry.name.startswith('.') and entry.name != DISCARDED:
            yield from _search(entry)

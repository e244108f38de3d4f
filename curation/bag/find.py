# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Find bags in folders of bags."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from curation.bag.files import STORAGE_SUFFIXES
from curation.exceptions import BagError
from curation.remote import local_path, Url
from recorder.bag.metadata import FILE_NAME
from recorder.episode import DISCARDED
from recorder.resume import RECOVERED


def find_bags(paths: Iterable[Path | Url]) -> list[Path]:
    """Return the bags that ``paths`` are or hold, in order of name; a URL's are mirrored.

    A folder with a metadata.yaml or storage files is a bag; other folders are searched, but for
    hidden and discarded ones and torn bags that were rebuilt. Raises BagError for a path that is
    no bag and holds none.
    """
    found: list[Path] = []
    for path in map(local_path, paths):
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
        if entry.is_dir() and not _left_out(entry):
            yield from _search(entry)


def _left_out(folder: Path) -> bool:
    """Tell whether a folder is hidden, discarded, or a torn bag that was rebuilt beside it."""
    rebuilt = folder.with_name(folder.name + RECOVERED) / FILE_NAME
    return folder.name.startswith('.') or folder.name == DISCARDED or rebuilt.is_file()

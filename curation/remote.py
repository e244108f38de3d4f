# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Bags, manifests and exports by URL (s3://…, whatever fsspec knows): mirrored, then worked on.

What is read is copied once beneath the cache folder and again only where its size or version
changed. What is written is made there and then uploaded, the file that makes it whole last.
"""

from __future__ import annotations

from collections.abc import Sequence
import hashlib
import importlib
import json
import os
from pathlib import Path
import shutil
from typing import Any

from curation.exceptions import RemoteError
from teleop_bridge.exceptions import MissingDependencyError

_VERSIONS = '.versions.json'  # of what was mirrored, beside it
_TAGS = ('ETag', 'etag', 'LastModified', 'mtime', 'created')


class Url(str):
    """A place that is not a path of this machine."""


def path_or_url(text: str) -> Path | Url:
    """Return a URL where the text has a scheme, else a path."""
    return Url(text.rstrip('/')) if '://' in text else Path(text)


def local_path(place: Path | Url) -> Path:
    """Return a path as it is, and of a URL the mirror, brought up to date.

    Raises RemoteError where there is nothing, or it can't be reached.
    """
    if not isinstance(place, Url):
        return place
    files = _File(place)
    found = files.listing()
    if not found:
        raise RemoteError(f'{place}: expected a file or folder, found none')
    mirror = _cache(place)
    versions_path = mirror / _VERSIONS
    known = json.loads(versions_path.read_text()) if versions_path.is_file() else {}
    versions = {}
    for name, version in found.items():
        target = mirror / name
        if known.get(name) != version or not target.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_name(f'.{target.name}.unfinished')
            files.get(name, unfinished)
            os.replace(unfinished, target)
        versions[name] = version
        versions_path.write_text(json.dumps({**known, **versions}))
    for gone in set(known) - set(found):
        (mirror / gone).unlink(missing_ok=True)
    versions_path.write_text(json.dumps(versions))
    only = next(iter(found))
    return mirror / only if files.is_file else mirror / place.rsplit('/', 1)[-1]


def staging_of(place: Url) -> Path:
    """Return where what goes to a URL is made first."""
    return _cache(place) / place.rsplit('/', 1)[-1]


def upload(folder: Path, place: Url, *, last: Sequence[str]) -> None:
    """Upload a folder to a URL that must be empty, and remove it here.

    Files named ``last`` come last, so that a reader never takes an incomplete one for whole; an
    upload that was stopped is made again. Raises RemoteError where one of those is there already.
    """
    files = _File(place)
    require_free(place, last)
    paths = [path for path in folder.rglob('*') if path.is_file()]
    for path in sorted(paths, key=lambda path: str(path.relative_to(folder)) in last):
        files.put(path, str(path.relative_to(folder)))
    shutil.rmtree(folder)


def require_free(place: Url, last: Sequence[str]) -> None:
    """Raise RemoteError where a URL has a whole export already."""
    files = _File(place)
    if any(files.exists(name) for name in last):
        raise RemoteError(f'{place}: exists already; name a new place, or remove it first')


class _File:
    """A URL's filesystem; every error of it becomes a RemoteError."""

    def __init__(self, place: Url) -> None:
        try:
            fsspec: Any = importlib.import_module('fsspec')
        except ImportError as error:
            raise MissingDependencyError('URLs need fsspec: pip install fsspec') from error
        self._place = place
        try:
            self._system, self._root = fsspec.url_to_fs(str(place))
        except (ImportError, ValueError) as error:
            raise RemoteError(f'{place}: {error}') from error
        self._system.invalidate_cache()
        self.is_file = bool(self._try(self._system.isfile, self._root))

    def listing(self) -> dict[str, str]:
        """Return files by name below the URL's parent, with what changes when they do."""
        if not self._try(self._system.exists, self._root):
            return {}
        parent = self._root.rsplit('/', 1)[0]
        found = self._try(self._system.find, self._root, detail=True)
        return {
            path[len(parent):].lstrip('/'): f'{info.get("size")} ' + ' '.join(
                str(info[tag]) for tag in _TAGS if tag in info)
            for path, info in sorted(found.items())
        }

    def get(self, name: str, target: Path) -> None:
        parent = self._root.rsplit('/', 1)[0]
        self._try(self._system.get_file, f'{parent}/{name}', str(target))

    def put(self, path: Path, name: str) -> None:
        target = f'{self._root}/{name}'
        self._try(self._system.makedirs, target.rsplit('/', 1)[0], exist_ok=True)
        self._try(self._system.put_file, str(path), target)

    def exists(self, name: str) -> bool:
        return bool(self._try(self._system.exists, f'{self._root}/{name}'))

    def _try(self, function: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except Exception as error:  # each store has its own
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise RemoteError(f'{self._place}: {text}') from error


def _cache(place: Url) -> Path:
    base = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    name = hashlib.sha256(place.encode()).hexdigest()[:16]
    return Path(base) / 'teleop_flywheel' / 'remote' / name

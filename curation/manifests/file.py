# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A manifest: a frozen, ordered list of episodes, and everything that chose them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
import json
import os
from pathlib import Path
from typing import Any

from blake3 import blake3

from curation.align.options import AlignOptions
from curation.exceptions import ManifestError

FORMAT = 'teleop_flywheel manifest 1'
FOLDER = 'manifests'  # in the data folder


@dataclass(frozen=True)
class Entry:
    """One episode as it was frozen; ``cluster`` is the id of the first of its near-copies."""

    id: str
    split: str
    weight: float
    name: str
    task: str
    grade: str
    operator: str
    session: str
    rig: str
    checkpoint: str
    source: str
    cluster: str


_FIELDS = {field.name for field in fields(Entry)}
# what stands around a file's lines; line ends are never within JSON's strings
_BEFORE, _BETWEEN, _AFTER = b'\n "episodes": [\n  ', b',\n  ', b'\n ]\n}\n'


@dataclass(frozen=True)
class Manifest:
    """Episodes in their order; ``chosen_by`` holds query, rules, weights, split and options."""

    name: str
    chosen_by: Mapping[str, Any]
    episodes: tuple[Entry, ...]

    @cached_property
    def hash(self) -> str:
        """Return the BLAKE3 hash of all of it: equal manifests have equal hashes."""
        episodes = _canonical([vars(entry) for entry in self.episodes])
        return _digest_of(self.name, self.chosen_by, episodes[1:-1])

    def of(self, split: str) -> tuple[Entry, ...]:
        """Return the episodes of a split, of all where it is empty."""
        return tuple(entry for entry in self.episodes if split in ('', entry.split))


@dataclass(frozen=True)
class Difference:
    """What another manifest adds, leaves out and changes; ``chosen_by`` names what differs."""

    added: tuple[Entry, ...]
    removed: tuple[Entry, ...]
    changed: tuple[tuple[Entry, Entry], ...]
    reordered: bool
    chosen_by: tuple[str, ...]


def digest(content: Any) -> str:
    """Return the BLAKE3 hash of JSON content, whatever the order of its keys."""
    return blake3(_canonical(content)).hexdigest()


def options_of(align: AlignOptions, export: Mapping[str, Any]) -> dict[str, Any]:
    """Return alignment and export options with a hash of each."""
    aligned = {
        entry.name: _plain(getattr(align, entry.name)) for entry in fields(AlignOptions)
    }
    return {
        'alignment': {'hash': digest(aligned), 'options': aligned},
        'export': {'hash': digest(dict(export)), 'options': dict(export)},
    }


def save(manifest: Manifest, path: Path) -> None:
    """Write the file, whole or not at all; ManifestError where one of that name exists.

    A line an episode: a person can read it, a version control system can show what changed, and
    the lines are hashed as they stand when they are read.
    """
    lines = [_canonical(vars(entry)) for entry in manifest.episodes]
    head = json.dumps(
        {'format': FORMAT, 'hash': manifest.hash, 'name': manifest.name,
         'chosen_by': manifest.chosen_by},
        indent=1, ensure_ascii=False,
    ).encode(errors='surrogatepass')
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f'.{path.name}.{os.getpid()}')
    partial.write_bytes(b''.join((head[:-2], b',', _BEFORE, _BETWEEN.join(lines), _AFTER)))
    try:
        os.link(partial, path)  # unlike a rename it never replaces
    except FileExistsError:
        raise ManifestError(f'{path}: exists already; a manifest is never changed') from None
    finally:
        partial.unlink()


def load(path: Path) -> Manifest:
    """Read a manifest; ManifestError where it is none, or is not as it was frozen."""
    try:
        stored = path.read_bytes()
        content = json.loads(stored)
    except OSError as error:
        raise ManifestError(f'{path}: can not be read ({error.strerror})') from error
    except ValueError as error:
        raise ManifestError(f'{path}: expected a manifest, found no JSON ({error})') from error
    if not isinstance(content, dict) or content.get('format') != FORMAT:
        found = content.get('format') if isinstance(content, dict) else type(content).__name__
        raise ManifestError(f"{path}: expected '{FORMAT}', found {found!r}")
    try:
        entries = tuple(_entry(entry) for entry in content['episodes'])
        manifest = Manifest(content['name'], content['chosen_by'], entries)
    except (AttributeError, KeyError, TypeError) as error:
        raise ManifestError(f'{path}: expected every field of an episode ({error})') from error
    hashed = _digest_as_it_stands(manifest, stored)
    if hashed == content.get('hash'):
        vars(manifest)['hash'] = hashed  # known without writing every episode again
    elif manifest.hash != content.get('hash'):  # nor its content's, which others may lay out
        raise ManifestError(
            f'{path}: expected hash {str(content.get("hash"))[:12]} as frozen, found '
            f'{manifest.hash[:12]}: the file was changed'
        )
    return manifest


def diff(old: Manifest, new: Manifest) -> Difference:
    """Return what turns old into new."""
    before, after = ({e.id: e for e in m.episodes} for m in (old, new))
    common = [key for key in before if key in after]
    keys = sorted({*old.chosen_by, *new.chosen_by})
    return Difference(
        added=tuple(entry for key, entry in after.items() if key not in before),
        removed=tuple(entry for key, entry in before.items() if key not in after),
        changed=tuple((before[k], after[k]) for k in common if before[k] != after[k]),
        reordered=common != [key for key in after if key in before],
        chosen_by=tuple(k for k in keys if old.chosen_by.get(k) != new.chosen_by.get(k)),
    )


def find_manifests(folder: Path) -> list[Path]:
    """Return the manifests of a data folder."""
    return sorted((folder / FOLDER).glob('*.json'))


def _entry(stored: dict[str, Any]) -> Entry:
    """Make an entry of stored fields, its own from now on, without the init of frozen classes.

    That takes 100,000 no time.
    """
    if stored.keys() != _FIELDS:
        raise TypeError(f'found {sorted(stored)}')
    entry = object.__new__(Entry)
    object.__setattr__(entry, '__dict__', stored)
    return entry


def _canonical(content: Any) -> bytes:
    """Return JSON content in its one form, in ASCII, whatever the order of its keys."""
    return json.dumps(content, sort_keys=True, separators=(',', ':')).encode()


def _digest_of(name: str, chosen_by: Mapping[str, Any], episodes: bytes) -> str:
    """Return the digest of a manifest, given its episodes' canonical form between brackets.

    It is the hash of the whole manifest's canonical form.
    """
    hashed = blake3()
    for part in (
        b'{"chosen_by":', _canonical(chosen_by), b',"episodes":[', episodes, b'],"format":',
        _canonical(FORMAT), b',"name":', _canonical(name), b'}',
    ):  # fmt: skip
        hashed.update(part)
    return hashed.hexdigest()


def _digest_as_it_stands(manifest: Manifest, stored: bytes) -> str:
    """Return the digest by a file's own lines; another one where another tool wrote the file."""
    begin = stored.rfind(_BEFORE) + len(_BEFORE)
    lines = stored[begin : -len(_AFTER)]
    return _digest_of(manifest.name, manifest.chosen_by, lines.replace(_BETWEEN, b','))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if value is None or isinstance(value, (bool, int)):
        return value
    return str(getattr(value, 'value', value))

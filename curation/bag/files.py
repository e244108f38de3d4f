# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Which files make up a bag: its folder's metadata.yaml (any version), or what lies there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
import re
import shutil
import tempfile
from typing import Any

import yaml
import zstandard

from curation.bag.mcap_file import McapFile
from curation.bag.message_compression import Decompressed
from curation.bag.model import BagFile, Problem
from curation.bag.sqlite_file import SqliteFile
from curation.exceptions import BagError
from recorder.bag.metadata import (
    FILE_NAME,
    read_custom_data,
    RECORD_KEY,
    RECORD_NAME,
    ROOT_KEY,
)
from recorder.exceptions import BagCorruptError

STORAGE_SUFFIXES = ('.mcap', '.db3', '.mcap.zstd', '.db3.zstd')


@dataclass(frozen=True)
class BagLayout:
    """The files of a bag, and what metadata.yaml says of it."""

    files: tuple[Path, ...]
    custom_data: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    compression_mode: str = ''  # message or file, in lower case
    version: int | None = None  # of metadata.yaml; None without one
    problems: tuple[Problem, ...] = ()


def find_files(path: Path) -> BagLayout:
    """Return what a bag's folder or one of its files holds; BagError where that is nothing."""
    if not path.exists():
        raise BagError(f'{path}: no such file or folder')
    if path.is_file():
        if path.suffix == '.bag':
            raise BagError(
                f'{path}: expected a ROS 2 bag, found a ROS 1 bag (rosbags-convert '
                'makes a ROS 2 bag of it)'
            )
        return BagLayout((path,))
    present = sorted(
        (file for file in path.iterdir() if file.name.endswith(STORAGE_SUFFIXES)), key=_natural
    )
    metadata = path / FILE_NAME
    if not metadata.is_file():
        if not present:
            raise BagError(
                f'{path}: expected a bag ({FILE_NAME}, .mcap or .db3 files), found none'
            )
        return BagLayout(
            tuple(present), problems=(Problem(f'{path}: has no {FILE_NAME}', lost=False),)
        )
    return _from_metadata(path, metadata, present)


def _from_metadata(path: Path, metadata: Path, present: list[Path]) -> BagLayout:
    problems = []
    info: dict[str, Any] = {}
    custom: dict[str, str] = {}
    try:
        text = metadata.read_text(encoding='utf-8')
        info = yaml.load(text, Loader=getattr(yaml, 'CSafeLoader', yaml.SafeLoader))[ROOT_KEY]
        custom = read_custom_data(text, str(metadata))
        named = [path / Path(str(name)).name for name in info.get('relative_file_paths') or ()]
        counts = {
            str(entry['topic_metadata']['name']): int(entry['message_count'])
            for entry in info.get('topics_with_message_count') or ()
        }
        version = int(info['version'])
        mode = str(info.get('compression_mode') or '').lower()
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        yaml.YAMLError,
        BagCorruptError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        problems.append(
            Problem(
                f'{metadata}: is unreadable ({reason}); the files beside it are used', lost=False
            )
        )
        named, counts, version, mode = present, {}, None, ''
    files = []
    for file in named:
        compressed = file.with_name(file.name + '.zstd')
        if file.is_file() or compressed.is_file():
            files.append(file if file.is_file() else compressed)
        else:
            problems.append(
                Problem(f'{file}: named by {FILE_NAME}, not there; its messages are lost')
            )
    if not files:
        if not present:
            raise BagError(f'{path}: {FILE_NAME} names {len(named)} files, none is there')
        files = present
    return BagLayout(tuple(files), custom, counts, mode, version, tuple(problems))


def open_file(path: Path, number: int, layout: BagLayout) -> BagFile:
    """Open one storage file by its content; BagError where it is neither MCAP nor sqlite3."""
    temporary = None
    if path.suffix == '.zstd':
        temporary = tempfile.TemporaryDirectory(prefix='flywheel_')
        path = _unpack(path, Path(temporary.name))
    with open(path, 'rb') as file:
        sqlite = file.read(16).startswith(b'SQLite format 3') or path.suffix == '.db3'
    opened: McapFile | SqliteFile
    opened = SqliteFile(str(path), number) if sqlite else McapFile(str(path), number)
    custom = {}
    for name, entries in opened.metadata:
        if name == RECORD_NAME and RECORD_KEY in entries:
            try:
                custom.update(read_custom_data(entries[RECORD_KEY], str(path)))
            except BagCorruptError as error:
                opened.problems.append(Problem(f'{error}', lost=False))
    return Decompressed(
        opened, custom, messages=layout.compression_mode == 'message', temporary=temporary
    )


def _unpack(path: Path, folder: Path) -> Path:
    target = folder / path.stem
    try:
        with open(path, 'rb') as source, open(target, 'wb') as sink:
            shutil.copyfileobj(zstandard.ZstdDecompressor().stream_reader(source), sink)
    except (zstandard.ZstdError, OSError) as error:
        raise BagError(f"{path}: can't be decompressed ({error})") from error
    return target


def _natural(path: Path) -> list[Any]:
    return [
        (int(part), '') if part.isdigit() else (0, part) for part in re.split(r'(\d+)', path.name)
    ]

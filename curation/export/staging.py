# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Write a folder so that it is there whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import shutil

from curation.exceptions import ExportError


@contextmanager
def staged(out: Path) -> Iterator[Path]:
    """Give a temporary folder beside ``out`` that becomes ``out`` when the block ends well.

    Raises ExportError where ``out`` exists. What a killed run left behind is removed.
    """
    if out.exists():
        raise ExportError(f'{out}: exists already; name a new folder, or remove it first')
    partial = out.with_name(f'.{out.name}.partial')
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        yield partial
        partial.rename(out)
    except OSError as error:
        raise ExportError(f'{out}: cannot be written ({error.strerror or error})') from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def resumable(out: Path, key: str) -> Iterator[Path]:
    """Give the temporary folder of an export that may go on where a stopped one ended.

    ``key`` says what is exported: what a run with another key left behind is removed. The folder
    stays when the block fails or the process is killed, and becomes ``out`` when it ends well.
    Raises ExportError where ``out`` exists.
    """
    if out.exists():
        raise ExportError(f'{out}: exists already; name a new folder, or remove it first')
    partial = out.with_name(f'.{out.name}.partial')
    mark = partial / 'resume_key'
    try:
        if not mark.is_file() or mark.read_text() != key:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            mark.write_text(key)
        yield partial
        mark.unlink()
        partial.rename(out)
    except OSError as error:
        raise ExportError(f'{out}: cannot be written ({error.strerror or error})') from error


@contextmanager
def assembled(out: Path, key: str, *, append: bool) -> Iterator[tuple[Path, Path]]:
    """Give two folders: for parts, which a stopped export of this ``key`` left, and the whole.

    The whole, which begins empty, becomes ``out`` when the block ends well; with ``append`` it
    replaces the one there. A process that is killed at any time leaves ``out`` as it was, or
    whole, or aside where the next export puts it back. Raises ExportError where ``out`` exists, or
    with ``append`` does not.
    """
    previous = out.with_name(f'.{out.name}.previous')
    restore(out)
    partial = out.with_name(f'.{out.name}.partial')
    mark, whole = partial / 'resume_key', partial / 'whole'
    if out.exists() != append:
        if out.exists() and not whole.exists():
            shutil.rmtree(partial, ignore_errors=True)  # of an export that was killed at its end
        raise ExportError(
            f'{out}: expected a dataset to append to, found none' if append else
            f'{out}: exists already; name a new folder, remove it first, or append to it'
        )
    try:
        if not mark.is_file() or mark.read_text() != key:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            mark.write_text(key)
        shutil.rmtree(whole, ignore_errors=True)
        whole.mkdir()
        yield partial / 'parts', whole
        _sync(whole)
        if append:
            out.rename(previous)
        whole.rename(out)
        shutil.rmtree(previous, ignore_errors=True)
        shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise ExportError(f'{out}: cannot be written ({error.strerror or error})') from error


def restore(out: Path) -> None:
    """Put back what an appending export that was killed while it replaced ``out`` left aside."""
    previous = out.with_name(f'.{out.name}.previous')
    if previous.exists():
        if out.exists():
            shutil.rmtree(previous, ignore_errors=True)
        else:
            previous.rename(out)


def discard(out: Path) -> None:
    """Remove what a failed export that nobody will resume left beside ``out``."""
    shutil.rmtree(out.with_name(f'.{out.name}.partial'), ignore_errors=True)


def link_or_copy(source: Path, target: Path) -> None:
    """Let a file be at two places: by a hard link, else as a copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _sync(folder: Path) -> None:
    """Let a folder's bytes be on the disk before its name is."""
    for path in folder.rglob('*'):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.close(file)

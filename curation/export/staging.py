# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Write a folder so that it is there whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Files that a power cut leaves either whole or absent."""

from __future__ import annotations

import errno
import os
from pathlib import Path
import time

from recorder.exceptions import BagExistsError, BagWriteError


def write_error(path: Path, error: OSError) -> BagWriteError:
    """Return the one-sentence error for a write that the operating system refused."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return BagWriteError(f'{path}: the disk is full, expected room to write; free some space')
    return BagWriteError(f'{path}: could not write, {error.strerror or error}')


def make_folder(path: Path) -> None:
    """Make a folder that must not exist yet, with its parents, and make its entry durable."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir()
        sync_folder(path.parent)
    except FileExistsError:
        raise BagExistsError(f'{path}: expected a new folder, found one that exists') from None
    except OSError as error:
        raise write_error(path, error) from error


def sync_folder(path: Path) -> None:
    """Make a folder's entries (new, renamed, removed files) durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def measure_write_rate(folder: Path, *, size: int = 64_000_000) -> float:
    """Return what the folder's disk takes, bytes per second, written and synced once."""
    block = os.urandom(1_000_000)
    path = folder / f'.write_rate.{os.getpid()}'
    try:
        folder.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        with open(path, 'wb') as file:
            for _ in range(size // len(block)):
                file.write(block)
            file.flush()
            os.fdatasync(file.fileno())
        return size / (time.monotonic() - started)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        path.unlink(missing_ok=True)


def replace_text(path: Path, text: str) -> None:
    """Write a text file by way of a temporary one, so that it is never seen half-written."""
    temporary = path.with_name(path.name + '.part')
    try:
        with open(temporary, 'w', encoding='utf-8') as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise write_error(path, error) from error

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Files of JSON lines that are only ever added to, by several processes and through crashes."""

from __future__ import annotations

from collections.abc import Iterator
import fcntl
import json
import os
from pathlib import Path
from typing import Any


def append_line(path: Path, line: bytes) -> None:
    """Add a line, on the disk when this returns; OSError where it can't be.

    A line that a crash tore is completed and left behind.
    """
    with path.open('ab+') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if file.tell() and os.pread(file.fileno(), 1, file.tell() - 1) != b'\n':
            file.write(b'\n')
        file.write(line + b'\n')
        file.flush()
        os.fsync(file.fileno())


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield each line's number and content, none where there is no file.

    A torn line is left out: nobody was told that it was kept.
    """
    if not path.exists():
        return
    for number, line in enumerate(path.read_bytes().split(b'\n'), 1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
        except ValueError:
            continue
        yield number, content

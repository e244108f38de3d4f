# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What every step of the set-up shares: its error, its output, its lock, its subprocesses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import fcntl
from pathlib import Path
import subprocess
import sys

_LAST_LINES = 25


class SetupError(Exception):
    """A step could not be done; the message says what a person can do about it."""


def say(text: str) -> None:
    """Print one line of progress."""
    print(f'[setup] {text}', file=sys.stderr, flush=True)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock file, so that two runs never write the same folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open('w') as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f'another set-up holds {path}; waiting for it')
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(
    command: Sequence[str | Path], *, log: Path, environment: Mapping[str, str], advice: str = '',
    quiet: bool = False,
) -> None:
    """Run a command with its output in a log file; show the log's end where it fails.

    A quiet one only raises SetupError.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open('a') as file:
        file.write(f'$ {" ".join(map(str, command))}\n')
        file.flush()
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    if done.returncode:
        if not quiet:
            lines = log.read_text(errors='replace').splitlines()[-_LAST_LINES:]
            print('\n'.join(lines), file=sys.stderr)
        what = f'{Path(command[0]).name} ended with {done.returncode}; its output is in {log}.'
        raise SetupError(f'{what} {advice}'.strip())

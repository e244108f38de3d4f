# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Real nodes in processes of their own, in a ROS domain that nobody else uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import fcntl
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import tempfile
import time
from typing import TextIO

PATIENCE_S = 20.0
_held: list[TextIO] = []


def new_domain() -> int:
    """Return a ROS domain id that no other test process on this machine holds.

    The lock lasts as long as this process: domains are not given back between its tests.
    """
    for domain in random.SystemRandom().sample(range(1, 101), 100):
        lock = (Path(tempfile.gettempdir()) / f'teleop_flywheel_domain_{domain}').open('w')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        _held.append(lock)
        return domain
    raise RuntimeError('every ROS domain is taken')


def environment(domain: int) -> dict[str, str]:
    """Return the environment of a node in that domain, on this machine only."""
    return {
        **os.environ,
        'ROS_DOMAIN_ID': str(domain),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
    }


@contextmanager
def node(
    module: str, domain: int, log: Path, **parameters: object
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a node's module until the block ends, then SIGINT it; fails where it ends uncleanly."""
    arguments = [
        argument for name, value in parameters.items() for argument in ('-p', f'{name}:={value}')
    ]
    command = [sys.executable, '-m', module, '--ros-args', *arguments]
    with log.open('wb') as output:
        process = subprocess.Popen(
            command, env=environment(domain), stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert code == 0, f'{module} ended with {code}:\n{log.read_text()}'


def wait_until(true: Callable[[], bool], spin: Callable[[], object], what: str) -> None:
    """Spin until something is true; fails, saying what was waited for."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, f'waited {PATIENCE_S:.0f} s for {what}'
        spin()

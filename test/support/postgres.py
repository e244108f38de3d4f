# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of one's own in a temporary folder, from Debian's package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import pwd
import shutil
import subprocess
import tempfile

import pytest


@contextmanager
def postgres() -> Iterator[str]:
    """Start a server that listens on a socket only; yields its URL, skips where there is none."""
    found = sorted(Path('/usr/lib/postgresql').glob('*/bin'))
    if not found:
        pytest.skip("needs PostgreSQL: apt-get install postgresql (Debian's package)")
    pytest.importorskip('psycopg', reason='needs pip install "psycopg[binary]"')
    folder = Path(tempfile.mkdtemp(prefix='pg', dir='/tmp'))  # a socket's path must be short
    user = None
    if os.geteuid() == 0:  # the server refuses to run as root
        user = 'postgres'
        account = pwd.getpwnam(user)
        os.chown(folder, account.pw_uid, account.pw_gid)
    data = folder / 'data'

    def run(program: str, *arguments: str) -> None:
        command = [str(found[-1] / program), '-D', str(data), *arguments]
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

    run('initdb', '-U', 'flywheel', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--locale=C.UTF-8')
    options = f'-k {folder} -c listen_addresses= -c fsync=off'
    run('pg_ctl', '-w', '-l', str(folder / 'log'), '-o', options, 'start')
    try:
        yield f'postgresql://flywheel@/postgres?host={folder}'
    finally:
        run('pg_ctl', '-w', '-m', 'immediate', 'stop')
        shutil.rmtree(folder, ignore_errors=True)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Debian packages that wheels can't bring: compilers, headers, software rendering, xmllint."""

from __future__ import annotations

from ctypes import CDLL
from importlib.util import find_spec
import os
from pathlib import Path
import shutil
import subprocess
import sys
import sysconfig

from distribution import Ros
from steps import run, say, SetupError


def _library(name: str) -> bool:
    try:
        CDLL(name)
    except OSError:
        return False
    return True


def _mesa_drivers() -> bool:
    """Return whether Mesa's software renderer is there, under its old name or its new one."""
    folders = (Path('/usr/lib/x86_64-linux-gnu'), Path('/usr/lib/aarch64-linux-gnu'))
    patterns = ('dri/swrast_dri.so', 'libgallium*.so')
    return any(any(folder.glob(pattern)) for folder in folders for pattern in patterns)


def missing(ros: Ros) -> list[str]:
    """Return the names of the Debian packages that this machine lacks."""
    python = f'python{sys.version_info.major}.{sys.version_info.minor}'
    probes = {
        'libegl1': _library('libEGL.so.1'),
        'libgl1-mesa-dri': _mesa_drivers(),
        'libxml2-utils': bool(shutil.which('xmllint')),
        f'{python}-venv': bool(find_spec('ensurepip') and find_spec('venv')),
        'cmake': bool(shutil.which('cmake')),
        'g++': bool(shutil.which('c++')),
        'make': bool(shutil.which('make')),
        f'{python}-dev': Path(sysconfig.get_path('include'), 'Python.h').is_file(),
    }
    if ros is Ros.JAZZY:
        probes['python3-colcon-common-extensions'] = bool(shutil.which('colcon'))
    return [name for name, found in probes.items() if not found]


def _may_sudo() -> bool:
    return bool(shutil.which('sudo')) and not subprocess.run(
        ['sudo', '-n', 'true'], stdin=subprocess.DEVNULL, capture_output=True).returncode


def install(ros: Ros) -> None:
    """Install what is missing where we may; raise SetupError with the command where not."""
    packages = missing(ros)
    if not packages:
        return
    names = ' '.join(packages)
    root = os.geteuid() == 0
    if not shutil.which('apt-get') or not (root or _may_sudo()):
        raise SetupError(
            f'this machine lacks system packages, and this user may not install them. Run:\n'
            f'    sudo apt-get update && sudo apt-get install -y {names}\n'
            f'and then the same command again.')
    say(f'installing system packages: {names}')
    sudo = [] if root else ['sudo', '-n']
    log = Path('/tmp', f'teleop_flywheel_apt_{os.getuid()}.log')
    environment = {**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'}
    apt = [*sudo, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q']
    run([*apt, 'update'], log=log, environment=environment)
    run([*apt, 'install', '-y', '--no-install-recommends', *packages], log=log,
        environment=environment)

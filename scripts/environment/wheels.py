# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""ROS 2 Jazzy from PyPI: repair what its wheels carry of their build machine, add what lacks."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import re
import shutil
import subprocess
import tempfile

from steps import run, say

# the wheels' CMake files name the headers of the machine that built them
_INCLUDE = re.compile(r'/opt/python/cp\d+-cp\d+/include/python3\.\d+')
_NUMPY = re.compile(
    r'/opt/python/cp\d+-cp\d+/lib/python3\.\d+/site-packages/numpy/_?core/include')


def overlay_packages(root: Path) -> list[Path]:
    """Return the folders of the interface packages that PyPI has no wheels of."""
    return sorted(path.parent for path in root.glob('overlay/*/package.xml'))


def overlay_files(root: Path) -> Iterator[Path]:
    """Yield every file that those packages are built from."""
    return (path for path in root.glob('overlay/*/**/*') if path.is_file())


def build_environment(prefix: Path) -> dict[str, str]:
    """Return the variables to build with: the wheels and the system, nothing of the caller's."""
    kept = {name: os.environ[name] for name in ('HOME', 'LANG', 'TMPDIR') if name in os.environ}
    return {**kept, 'PATH': f'{prefix}/bin:/usr/bin:/bin', 'AMENT_PREFIX_PATH': str(prefix)}


def repair(prefix: Path, *, python: Path, log: Path) -> None:
    """Let the wheels' CMake files name this environment's headers."""
    query = 'import sysconfig, numpy; print(sysconfig.get_path("include"), numpy.get_include())'
    include, numpy = subprocess.run(
        [python, '-c', query], env=build_environment(prefix), check=True,
        capture_output=True, text=True).stdout.split()
    for file in prefix.glob('share/*/cmake/*.cmake'):
        text = file.read_text()
        repaired = _INCLUDE.sub(include, _NUMPY.sub(numpy, text))
        if repaired != text:
            file.write_text(repaired)
            with log.open('a') as output:
                output.write(f'repaired {file}\n')


def build_overlay(root: Path, prefix: Path, *, log: Path) -> None:
    """Build the missing interface packages into the environment, as if they had been wheels."""
    environment = build_environment(prefix)
    for package in overlay_packages(root):
        say(f'building {package.name}')
        build = Path(tempfile.mkdtemp(prefix=f'{package.name}_'))
        try:
            run(['cmake', '-S', package, '-B', build, f'-DCMAKE_INSTALL_PREFIX={prefix}',
                 '-DCMAKE_BUILD_TYPE=Release', f'-DPython3_EXECUTABLE={prefix}/bin/python'],
                log=log, environment=environment)
            run(['cmake', '--build', build, '--parallel', '2', '--target', 'install'],
                log=log, environment=environment)
        finally:
            shutil.rmtree(build, ignore_errors=True)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The Python environment: outside the tree, named by what is in it, complete or absent."""

from __future__ import annotations

from dataclasses import dataclass
import hashlib
import os
from pathlib import Path
import shutil
import sys
import time

from distribution import Ros
from steps import run, say, SetupError
import wheels

_KEY_DIGITS = 16
TORCH_CPU = 'torch==2.13.0+cpu'


def version() -> str:
    """Return this interpreter's version, as 3.11."""
    return f'{sys.version_info.major}.{sys.version_info.minor}'


def _cache() -> Path:
    home = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    return Path(home, 'teleop_flywheel')


def _lists(ros: Ros) -> tuple[str, ...]:
    """Return the names of the requirement lists that are installed."""
    return (*(['ros'] if ros is Ros.WHEELS else []), 'base', 'extras', 'test')


def _lock(ros: Ros) -> str:
    return 'lock' if ros is Ros.WHEELS else 'lock-jazzy'


@dataclass(frozen=True)
class Environment:
    """A Python environment under the user's cache folder, shared by all clones that fit it."""

    root: Path  # of the source tree
    ros: Ros
    folder: Path

    @classmethod
    def of(cls, root: Path, ros: Ros) -> Environment:
        """Return the environment that this tree, this Python and this ROS need."""
        digest = hashlib.sha256(f'{ros.value} {sys.version} {sys.base_prefix}'.encode())
        lists = [root / 'requirements' / f'{name}.txt' for name in (*_lists(ros), _lock(ros))]
        for file in [*lists, *sorted(wheels.overlay_files(root))]:
            digest.update(str(file.relative_to(root)).encode() + file.read_bytes())
        name = f'{ros.value}-py{version()}-{digest.hexdigest()[:_KEY_DIGITS]}'
        return cls(root, ros, _cache() / name)

    @property
    def key(self) -> str:
        """Return the name that changes with anything in the environment."""
        return self.folder.name

    @property
    def python(self) -> Path:
        """Return the environment's interpreter."""
        return self.folder / 'bin' / 'python'

    @property
    def complete(self) -> bool:
        """Return whether the environment was made to its end and its interpreter still works."""
        return (self.folder / 'complete').is_file() and self.python.exists()

    def make(self) -> None:
        """Make the environment anew; pip's own cache spares the downloads of a stopped run."""
        start = time.monotonic()
        shutil.rmtree(self.folder, ignore_errors=True)
        log = self.folder / 'setup.log'
        say(f'making the Python {version()} environment {self.folder} (2 to 5 minutes, once)')
        outside = {name: value for name, value in os.environ.items()
                   if name not in ('PYTHONPATH', 'PYTHONHOME', '_ROS_WHEELS_BOOTSTRAP_COMPLETE')}
        site = ['--system-site-packages'] if self.ros is Ros.JAZZY else []
        # the folder is there already for the log
        run([sys.executable, '-I', '-m', 'venv', *site, self.folder], log=log, environment=outside)
        install = [self.python, '-I', '-m', 'pip', 'install', '--disable-pip-version-check']
        run([*install, *self._requirements()], log=log, environment=outside,
            advice='Is the package index reachable, and is there room on the disk?')
        self._try_torch(install, log=log, environment=outside)
        if self.ros is Ros.WHEELS:
            say('building the interfaces that PyPI lacks')
            wheels.repair(self.folder, python=self.python, log=log)
            wheels.build_overlay(self.root, self.folder, log=log)
        (self.folder / 'complete').touch()
        say(f'environment made in {time.monotonic() - start:.0f} s')

    def _try_torch(
        self, install: list[Path | str], *, log: Path, environment: dict[str, str]
    ) -> None:
        """Install PyTorch's CPU build where pip is set up to find one; nothing else needs it.

        PyPI's own build brings gigabytes of CUDA, which nobody should have to wait for here.
        """
        constraint = f'--constraint={self.root}/requirements/{_lock(self.ros)}.txt'
        try:
            run([*install, '--only-binary=:all:', constraint, TORCH_CPU], log=log,
                environment=environment, quiet=True)
        except SetupError:
            say(f'no {TORCH_CPU} to be had: what trains is left out of the tests')

    def _requirements(self) -> list[str]:
        folder = self.root / 'requirements'
        names = [f'--requirement={folder}/{name}.txt' for name in _lists(self.ros)]
        return [*names, f'--constraint={folder}/{_lock(self.ros)}.txt']

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""`pip install .` in a bare environment gives the offline half, without ROS."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[1]
COPIED = ('teleop_bridge', 'recorder', 'curation', 'msg', 'srv', 'config', 'requirements')
FILES = ('setup.py', 'pyproject.toml', 'package.xml', 'MANIFEST.in', 'LICENSE')


@pytest.fixture(scope='module')
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with our packages and what they require, built from a copy."""
    source = tmp_path_factory.mktemp('source')
    for name in COPIED:
        shutil.copytree(
            ROOT / name, source / name, ignore=shutil.ignore_patterns('__pycache__'))
    for name in FILES:
        shutil.copy(ROOT / name, source / name)
    environment = tmp_path_factory.mktemp('bare')
    run(Path(sys.executable), '-m', 'venv', str(environment))
    lock = ROOT / 'requirements' / 'lock.txt'
    run(environment / 'bin' / 'python', '-m', 'pip', 'install', '-q', '-c', str(lock), str(source))
    return environment


def run(*command: Path | str) -> str:
    """Run a command as in a shell that knows nothing of this test's environment."""
    variables = {
        name: value for name, value in os.environ.items()
        if not name.startswith(('AMENT_', 'PYTHON', 'ROS_', '_ROS', 'LD_', 'COLCON_'))
    }
    done = subprocess.run(
        command, env={**variables, 'PATH': '/usr/bin:/bin'}, cwd='/', capture_output=True,
        text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_three_packages_are_there_and_ros_is_not(bare: Path) -> None:
    code = (
        'import importlib.util as u\n'
        'import teleop_bridge.rig.loader, recorder.bag.writer, curation\n'
        'print(u.find_spec("rclpy"))\n'
    )
    assert run(bare / 'bin' / 'python', '-c', code) == 'None\n'


def test_rigs_and_messages_are_found(bare: Path) -> None:
    code = (
        'from teleop_bridge.resources import data_file\n'
        'print(data_file("msg/Authority.msg"))\n'
        'from recorder.bag.definitions import definition\n'
        'definition("teleop_flywheel/msg/Authority")\n'
    )
    found = run(bare / 'bin' / 'python', '-c', code)
    assert found.strip() == str(bare / 'share' / 'teleop_flywheel' / 'msg' / 'Authority.msg')


def test_the_program_runs(bare: Path) -> None:
    assert 'info' in run(bare / 'bin' / 'flywheel', '--help')

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The source is clean by every linter, typed, layered, and each file names its licence."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ('teleop_bridge', 'recorder', 'curation')
SOURCES = (*PACKAGES, 'launch', 'scripts', 'test', 'bench', 'setup.py')
HEADER = (
    '# Copyright 2026 teleop_flywheel developers\n'
    '# SPDX-License-Identifier: Apache-2.0\n'
)


def check(*command: str) -> None:
    """Fail with the linter's own output; it reads the source tree, not the install."""
    program = shutil.which(command[0], path=f'{Path(sys.executable).parent}:{os.environ["PATH"]}')
    if program is None:
        pytest.skip(f'{command[0]} is not installed')
    done = subprocess.run(
        [program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def python_files() -> list[Path]:
    listed = (ROOT / name for name in SOURCES)
    return sorted(
        path for top in listed for path in ([top] if top.is_file() else top.rglob('*.py'))
    )


def test_ruff_finds_nothing() -> None:
    check('ruff', 'check', '--no-cache', '.')


@pytest.mark.skipif(
    sys.version_info < (3, 11),
    reason='the newest NumPy for Python 3.10 lacks annotations that strict checking needs',
)
def test_types_are_whole_in_every_ros_free_module() -> None:
    check('mypy')


def test_imports_go_one_way_and_ros_stays_in_the_nodes() -> None:
    check('lint-imports', '--no-cache')


def test_ament_flake8_finds_nothing() -> None:
    check('ament_flake8', '--config', '.flake8', *(str(path) for path in python_files()))


def test_ament_pep257_finds_nothing() -> None:
    checked = [path for path in python_files() if 'test' not in path.relative_to(ROOT).parts]
    check('ament_pep257', '--convention', 'pep257', '--add-ignore', 'D104', 'D105', 'D107', '--',
          *(str(path) for path in checked))


def test_every_source_file_names_its_licence() -> None:
    texts = {path: path.read_text() for path in python_files()}
    without = [
        str(path.relative_to(ROOT)) for path, text in texts.items()
        if text and not text.startswith(HEADER)
    ]
    assert without == []


def test_the_packages_themselves_are_empty() -> None:
    sizes = {name: (ROOT / name / '__init__.py').stat().st_size for name in PACKAGES}
    assert sizes == dict.fromkeys(PACKAGES, 0)

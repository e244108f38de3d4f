# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Install the three Python packages and the program flywheel without ROS; colcon uses CMake."""

from __future__ import annotations

from pathlib import Path
import re

from setuptools import find_packages, setup

PACKAGES = ('teleop_bridge', 'recorder', 'curation')
ROOT = Path(__file__).parent


def _lines(name: str) -> list[str]:
    return (ROOT / 'requirements' / f'{name}.txt').read_text().splitlines()


def _names(name: str) -> list[str]:
    return [line for line in _lines(name) if line and not line.startswith('#')]


def _extras() -> dict[str, list[str]]:
    """Return the optional parts: extras.txt names each in a comment above its lines."""
    extras: dict[str, list[str]] = {}
    name = ''
    for line in _lines('extras'):
        if heading := re.match(r'# \[(\w+)\]', line):
            name = heading[1]
        elif line and not line.startswith('#'):
            extras.setdefault(name, []).append(line)
    everything = sorted({line for lines in extras.values() for line in lines})
    return {**extras, 'all': everything, 'train': _names('train')}


def _data_files() -> list[tuple[str, list[str]]]:
    """Return messages, rigs and tasks for where teleop_bridge.resources looks for them."""
    folders = [Path(name) for name in ('msg', 'srv', 'config')]
    files = [path for folder in folders for path in sorted(folder.rglob('*')) if path.is_file()]
    return [(f'share/teleop_flywheel/{path.parent}', [str(path)]) for path in files]


version = re.search(r'<version>(.+)</version>', (ROOT / 'package.xml').read_text())
assert version, 'package.xml: expected a version; found none'

setup(
    name='teleop_flywheel',
    version=version[1],
    description='Teleoperation, recording and curation of robot-learning episodes',
    license='Apache-2.0',
    python_requires='>=3.10,<3.14',
    packages=find_packages(include=[f'{name}{rest}' for name in PACKAGES for rest in ('', '.*')]),
    package_data={name: ['**/*.html', '**/*.css', '**/*.js', '**/*.json', '**/*.yaml', 'py.typed']
                  for name in PACKAGES},
    data_files=_data_files(),
    install_requires=_names('base'),
    extras_require=_extras(),
    entry_points={'console_scripts': ['flywheel = curation.cli.main:main']},
)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The colcon build of this tree, under .colcon, and the file that a shell sources to use it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
import shutil
import time

from distribution import Ros
from python_environment import Environment
from steps import run, say
import wheels

_BUILT = ('CMakeLists.txt', 'package.xml', 'executables.txt', 'cmake', 'msg', 'srv', 'launch',
          'config', 'teleop_bridge', 'recorder', 'curation')
_SETUP = """\
# made by scripts/setup: source it in bash to use this build
{environment}
# software or GPU rendering without a display
export MUJOCO_GL="${{MUJOCO_GL:-egl}}"
. '{install}/local_setup.bash'
"""
_WHEELS = """\
unset _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH PYTHONPATH PYTHONHOME
export AMENT_PREFIX_PATH='{prefix}'
export ROS_AUTOMATIC_DISCOVERY_RANGE="${{ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}}"
export VIRTUAL_ENV='{prefix}' PATH='{prefix}/bin':"$PATH"
"""
_JAZZY = """\
export VIRTUAL_ENV='{prefix}' PATH='{prefix}/bin':"$PATH"
"""


def _state(root: Path, environment: Environment) -> str:
    """Return a digest of all that the build is made from."""
    digest = hashlib.sha256(f'{environment.key} {root}'.encode())
    for name in _BUILT:
        for file in sorted([root / name, *(root / name).rglob('*')]):
            if file.is_file() and '__pycache__' not in file.parts:
                digest.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return digest.hexdigest()


def _remove_outdated(colcon: Path, environment: Environment) -> None:
    """Remove what a new build would not: modules that are no longer in the tree."""
    made_with = colcon / 'environment'
    if not made_with.is_file() or made_with.read_text() != environment.key:
        shutil.rmtree(colcon / 'build', ignore_errors=True)
        made_with.write_text(environment.key)
    shutil.rmtree(colcon / 'install', ignore_errors=True)
    shutil.rmtree(
        colcon / 'build' / 'teleop_flywheel' / 'ament_cmake_python', ignore_errors=True)


def build(root: Path, environment: Environment) -> None:
    """Build the tree where anything in it changed since the last whole build."""
    colcon = root / '.colcon'
    state = colcon / 'state'
    now = _state(root, environment)
    if state.is_file() and state.read_text() == now:
        return
    start = time.monotonic()
    say('building teleop_flywheel')
    state.unlink(missing_ok=True)
    _remove_outdated(colcon, environment)
    log = colcon / 'build.log'
    log.unlink(missing_ok=True)
    wheels_only = environment.ros is Ros.WHEELS
    variables = (wheels.build_environment(environment.folder) if wheels_only
                 else {**os.environ, 'PATH': f'{environment.folder}/bin:{os.environ["PATH"]}'})
    run(['colcon', '--log-base', colcon / 'log', 'build', '--base-paths', root,
         '--packages-select', 'teleop_flywheel', '--build-base', colcon / 'build',
         '--install-base', colcon / 'install',
         '--cmake-args', f'-DPython3_EXECUTABLE={environment.python}'],
        log=log, environment=variables)
    lines = (_WHEELS if wheels_only else _JAZZY).format(prefix=environment.folder)
    (colcon / 'environment.sh').write_text(
        _SETUP.format(environment=lines, install=colcon / 'install'))
    state.write_text(now)
    say(f'built in {time.monotonic() - start:.0f} s')

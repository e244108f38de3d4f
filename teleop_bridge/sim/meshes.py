# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Meshes with few enough faces for software rendering, made once and cached."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.exceptions import FlywheelError, MissingDependencyError

FACES = 500  # per mesh: 322,000 faces in all become 9,000
_FACE = np.dtype([('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')])
_HEADER = 80
_SNAP_M = 2e-3


def cache_folder() -> Path:
    """Return our folder in the user's cache (XDG)."""
    base = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    return Path(base) / 'teleop_flywheel'


def decimated(source: Path, *, faces: int = FACES, cache: Path | None = None) -> Path:
    """Return a binary STL of at most about ``faces`` faces that looks like ``source``.

    It is made once for each content of ``source`` and kept in the cache; several processes may
    ask at the same time. Raises FlywheelError where ``source`` is no binary STL and
    MissingDependencyError where fast-simplification is not installed.
    """
    content = source.read_bytes()
    key = hashlib.blake2b(content, digest_size=8).hexdigest()
    target = (cache or cache_folder()) / 'meshes' / f'{source.stem}-{key}-{faces}.stl'
    if not target.exists():
        corners = _simplified(_corners(content, source), faces)
        _write_atomically(target, corners)
    return target


def _corners(content: bytes, source: Path) -> NDArray[np.float32]:
    count = int.from_bytes(content[_HEADER : _HEADER + 4], 'little')
    expected = _HEADER + 4 + count * _FACE.itemsize
    if len(content) != expected:
        raise FlywheelError(
            f'{source}: expected a binary STL of {expected} bytes, found {len(content)}'
        )
    faces = np.frombuffer(content, _FACE, count, _HEADER + 4)
    return np.ascontiguousarray(faces['corners'])


def _simplified(corners: NDArray[np.float32], faces: int) -> NDArray[np.float32]:
    if len(corners) <= faces:
        return corners
    try:
        import fast_simplification
    except ImportError as error:
        raise MissingDependencyError(
            'preparing the meshes of the simulated rig needs pip install fast-simplification'
        ) from error
    # An STL repeats each vertex per face, and these parts have seams, threads and engravings that
    # no edge collapse would remove: vertices are first brought together on a grid.
    snapped = np.round(corners.reshape(-1, 3) / _SNAP_M) * _SNAP_M
    points, index = np.unique(snapped, axis=0, return_inverse=True)
    triangles = index.reshape(-1, 3).astype(np.int32)
    first, second, third = triangles.T
    triangles = triangles[(first != second) & (second != third) & (third != first)]
    if len(triangles) > faces:
        points, triangles = fast_simplification.simplify(
            points, triangles, target_reduction=1 - faces / len(triangles)
        )[:2]
    simplified: NDArray[np.float32] = np.asarray(points, np.float32)[triangles]
    return simplified


def _write_atomically(target: Path, corners: NDArray[np.float32]) -> None:
    faces = np.zeros(len(corners), _FACE)
    faces['corners'] = corners
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f'{target.name}.{os.getpid()}')
    partial.write_bytes(
        bytes(_HEADER) + len(corners).to_bytes(4, 'little') + faces.tobytes()
    )
    os.replace(partial, target)

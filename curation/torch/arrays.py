# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Training from the array exports: robomimic's HDF5 file and Diffusion Policy's Zarr buffer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.exceptions import ExportError
from curation.export.robomimic import FILE
from curation.torch.cache import ProcessCache
from curation.torch.source import ACTION, INTERVENTION, STATE, VALID, WEIGHT
from teleop_bridge.exceptions import MissingDependencyError

_IMAGE = '_image'
_OTHERS = (INTERVENTION, VALID, WEIGHT)


class RobomimicSource:
    """A robomimic export as episodes; ExportError where the folder is none."""

    def __init__(self, folder: Path, *, open_episodes: int = 256) -> None:
        self._path = folder / FILE
        self._files: ProcessCache[Path, Any] = ProcessCache(1, _close)
        self._tables: ProcessCache[int, dict[str, NDArray[Any]]] = ProcessCache(open_episodes)
        try:
            with _h5py().File(self._path) as file:
                demos = [file[f'data/demo_{number}'] for number in range(len(file['data']))]
                self.lengths = np.array([d.attrs['num_samples'] for d in demos], np.int64)
                self.cameras = tuple(
                    name.removesuffix(_IMAGE) for name in demos[0]['obs'] if name.endswith(_IMAGE))
        except (OSError, KeyError, IndexError) as error:
            raise ExportError(f'{folder}: expected a robomimic export, found {error}') from error

    def numbers(self, episode: int) -> Mapping[str, NDArray[Any]]:
        """Return an episode's columns."""
        return self._tables.get(episode, lambda: self._read(self._demo(episode)))

    def frame(self, episode: int, camera: str, i: int) -> NDArray[np.uint8]:
        """Return the image at a sample, (h, w, 3) RGB."""
        return np.asarray(self._demo(episode)[f'obs/{camera}{_IMAGE}'][i], np.uint8)

    def _demo(self, episode: int) -> Any:
        file = self._files.get(self._path, lambda: _h5py().File(self._path))
        return file[f'data/demo_{episode}']

    def _read(self, demo: Any) -> dict[str, NDArray[Any]]:
        columns = {STATE: demo['obs/joint_positions'][:], ACTION: demo['actions'][:]}
        return columns | {name: demo[name][:] for name in _OTHERS}


class ZarrSource:
    """A Zarr export as episodes; ExportError where the folder is none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._roots: ProcessCache[Path, Any] = ProcessCache(1)
        self._tables: ProcessCache[int, dict[str, NDArray[Any]]] = ProcessCache(256)
        try:
            ends = np.asarray(self._root()['meta/episode_ends'][:], np.int64)
            data = self._root()['data']
            self.cameras = tuple(
                sorted(name for name in data.array_keys() if data[name].ndim == 4))
        except (OSError, KeyError, ValueError) as error:
            raise ExportError(f'{folder}: expected a Zarr export, found {error}') from error
        self.lengths = np.diff(ends, prepend=0)
        self._starts = ends - self.lengths

    def numbers(self, episode: int) -> Mapping[str, NDArray[Any]]:
        """Return an episode's columns."""
        return self._tables.get(episode, lambda: self._read(episode))

    def frame(self, episode: int, camera: str, i: int) -> NDArray[np.uint8]:
        """Return the image at a sample, (h, w, 3) RGB."""
        return np.asarray(self._root()[f'data/{camera}'][int(self._starts[episode]) + i], np.uint8)

    def _read(self, episode: int) -> dict[str, NDArray[Any]]:
        start = int(self._starts[episode])
        rows = slice(start, start + int(self.lengths[episode]))
        names = {STATE: 'state', ACTION: 'action', **{name: name for name in _OTHERS}}
        data = self._root()['data']
        return {name: np.asarray(data[stored][rows]) for name, stored in names.items()}

    def _root(self) -> Any:
        return self._roots.get(self._folder, self._open)

    def _open(self) -> Any:
        try:
            import zarr
        except ImportError as error:
            raise MissingDependencyError('Zarr buffers need zarr: pip install zarr') from error
        return zarr.open_group(str(self._folder), mode='r')


def _close(file: Any) -> None:
    file.close()


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise MissingDependencyError('robomimic files need h5py: pip install h5py') from error
    return h5py

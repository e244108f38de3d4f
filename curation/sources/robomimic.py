# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Read robomimic HDF5 datasets as recordings."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
from typing import Any

import numpy as np

from curation.align.episode import Facts, Image
from curation.align.series import Recording, Series
from curation.bag.model import Problem
from curation.exceptions import BagError
from curation.sources.table import ALL, content_id, image_series, joint_series
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.exceptions import MissingDependencyError
from teleop_bridge.rig.schema import Camera, Clock, Joint, Rig, Role, Stream

_DEFAULT_HZ = 20.0  # robosuite's control_freq, where env_args does not say
_STATES = ('robot0_joint_pos', 'joint_positions', 'robot0_eef_pos', 'state')


def is_robomimic(path: Path) -> bool:
    """Tell whether a file is HDF5 by its name."""
    return path.is_file() and path.suffix in ('.hdf5', '.h5')


class RobomimicSource:
    """A robomimic dataset; the state is the first of the usual low-dimensional observations.

    Raises BagError where the file is none, MissingDependencyError without h5py.
    """

    def __init__(self, path: Path) -> None:
        try:
            import h5py
        except ImportError as error:
            raise MissingDependencyError(
                'robomimic datasets need h5py: pip install h5py'
            ) from error
        self.path = path
        try:
            self._file = h5py.File(path, 'r')
            self._demos = sorted(self._file['data'], key=_number)
            self._hz = _rate(self._file['data'].attrs.get('env_args', '{}'))
        except (OSError, KeyError, ValueError) as error:
            raise BagError(f'{path}: expected a robomimic dataset, found {error}') from error

    def __len__(self) -> int:
        return len(self._demos)

    def recordings(self, part: slice = ALL) -> Iterator[Recording]:
        """Yield demonstrations; one that can't be read is empty, with its problem."""
        for name in self._demos[part]:
            try:
                yield self._recording(name, self._file['data'][name])
            except (OSError, KeyError, ValueError) as error:
                rig = Rig(self.path.stem, '', Clock.ROS, (), ())
                problem = Problem(f"{self.path}: {name} can't be read ({error})")
                yield Recording('', name, str(self.path), rig, Facts(), {}, (), (), (problem,))

    def _recording(self, name: str, demo: Any) -> Recording:
        actions = np.asarray(demo['actions'], np.float64)
        observations = demo['obs']
        key = next((key for key in _STATES if key in observations), None)
        if key is None:
            raise KeyError(f'none of {", ".join(_STATES)} in obs')
        state = np.asarray(observations[key], np.float64)
        state = state.reshape(len(state), -1)
        cameras = [k for k in observations if observations[k].ndim == 4]
        joints = tuple(f'{key}_{i}' for i in range(state.shape[1]))
        rig = self._rig(joints, cameras, actions.shape[1])
        stamps = np.round(np.arange(len(actions)) * NANOSECONDS / self._hz).astype(np.int64)
        series: dict[str, Series] = {
            'state': joint_series(rig.stream('state'), stamps, state, joints)
        }
        same = actions.shape[1] == state.shape[1]
        names = joints if same else tuple(f'action_{i}' for i in range(actions.shape[1]))
        if 'action' in {stream.name for stream in rig.streams}:
            series['action'] = joint_series(rig.stream('action'), stamps, actions, names)
        frames = {}
        for camera in cameras:
            series[camera] = image_series(rig.stream(camera), stamps)
            frames[camera] = _Images(observations[camera])
        return Recording(
            content_id(series), name, str(self.path), rig, Facts(), series, (), (), (), frames
        )

    def _rig(self, joints: tuple[str, ...], cameras: list[str], actions: int) -> Rig:
        age = round(3 * NANOSECONDS / self._hz)
        roles: list[tuple[str, Role]] = [('state', Role.STATE)]
        if actions == len(joints):  # another size is another space: not comparable by joint
            roles.append(('action', Role.ACTION))
        roles += [(camera, Role.CAMERA) for camera in cameras]
        streams = tuple(
            Stream(name, name, '', role, rate_hz=self._hz, max_age_ns=age) for name, role in roles
        )
        return Rig(
            self.path.stem,
            '',
            Clock.ROS,
            tuple(Joint(name) for name in joints),
            streams,
            cameras=tuple(Camera(camera, image=camera) for camera in cameras),
            path=str(self.path),
        )


class _Images:
    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __call__(self, index: int) -> Image:
        return np.asarray(self._dataset[index], np.uint8)


def _number(name: str) -> tuple[int, str]:
    digits = ''.join(filter(str.isdigit, name))
    return (int(digits) if digits else -1, name)


def _rate(text: str | bytes) -> float:
    value = json.loads(text or '{}')
    frequency = (
        (value.get('env_kwargs') or {}).get('control_freq') if isinstance(value, dict) else 0
    )
    return float(frequency or _DEFAULT_HZ)

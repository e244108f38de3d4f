# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A policy that LeRobot trained on an exported dataset, run by LeRobot itself."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
import hashlib
import importlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.joints import JointSample
from teleop_bridge.policy.base import ActionChunk, check_chunk, Observation, PolicyError
from teleop_bridge.rig.schema import Rig

_STATE = 'observation.state'
_IMAGES = 'observation.images.'
_VECTORS = 'observation.'


class LeRobotPolicy:
    """Runs ``checkpoint``, ``FOLDER@RATE``: a pretrained_model folder and its dataset's fps.

    LeRobot's checkpoints do not say at what rate their actions follow each other. Inputs are the
    rig's streams by the names that the export gave them; images must have the size that it was
    trained on. Raises PolicyError where the folder holds no policy, it looks through depth or at
    several times, or it was trained for another number of joints or streams that the rig has not.
    """

    def __init__(self, rig: Rig, checkpoint: str) -> None:
        folder, _, rate = checkpoint.rpartition('@')
        self._folder = Path(folder)
        self._step_ns = _step_ns(checkpoint, rate)
        self.checkpoint = _content_hash(self._folder)
        self._torch = _import('torch')
        self._policy, self._before, self._after = _load(self._folder)
        config = self._policy.config
        self._features: Mapping[str, Any] = config.input_features
        self._streams = {key: _stream(key) for key in self._features if key != _STATE}
        self._check_fits(rig, config)
        self.inputs = tuple(self._streams.values())
        self.period_ns = self._step_ns * int(config.n_action_steps)
        check_chunk(self.propose(self._nothing(rig)), rig)

    def reset(self) -> None:
        """Forget the episode."""
        self._policy.reset()

    def propose(self, observation: Observation) -> ActionChunk:
        """Run the policy once; raises PolicyError for an input of another shape."""
        batch = {key: self._tensor(key, observation) for key in self._features}
        with self._torch.inference_mode():
            chunk = self._policy.predict_action_chunk(self._before({**batch, 'task': ''}))
            positions = self._after(chunk[0]).cpu().numpy().astype(np.float64)
        # a dataset's action is the one that was executed at its frame or just after
        steps = np.arange(len(positions), dtype=np.int64)
        return ActionChunk(observation.stamp_ns + self._step_ns * steps, positions)

    def _tensor(self, key: str, observation: Observation) -> Any:
        stream = self._streams.get(key)
        value = observation.state.positions if stream is None else observation.values[stream]
        if key.startswith(_IMAGES):
            value = value.transpose(2, 0, 1).astype(np.float32) / 255
        expected = tuple(self._features[key].shape)
        if value.shape != expected:
            raise PolicyError(
                f"{self._folder}: '{stream or 'state'}': expected the shape {expected} that it "
                f'was trained on, found {value.shape}'
            )
        return self._torch.from_numpy(np.ascontiguousarray(value, np.float32))

    def _nothing(self, rig: Rig) -> Observation:
        values: dict[str, NDArray[Any]] = {}
        for key, stream in self._streams.items():
            shape = tuple(self._features[key].shape)
            image = key.startswith(_IMAGES)
            values[stream] = np.zeros((*shape[1:], 3), np.uint8) if image else np.zeros(shape)
        state = JointSample(rig.joint_names, np.zeros(len(rig.joint_names)), 0)
        return Observation(0, state, values)

    def _check_fits(self, rig: Rig, config: Any) -> None:
        joints = len(rig.joint_names)
        action = config.action_feature
        for what, feature in (('state', self._features.get(_STATE)), ('action', action)):
            if feature is not None and tuple(feature.shape) != (joints,):
                raise PolicyError(
                    f'{self._folder}: its {what} has the shape {tuple(feature.shape)}, the rig '
                    f'has {joints} joints'
                )
        if getattr(config, 'n_obs_steps', 1) != 1:
            raise PolicyError(
                f'{self._folder}: looks at {config.n_obs_steps} times at once: expected 1'
            )
        known = {stream.name for stream in rig.streams}
        for key, stream in self._streams.items():
            if key.startswith(_IMAGES) and tuple(self._features[key].shape)[0] != 3:
                raise PolicyError(f"{self._folder}: '{key}': expected a colour image")
            if stream not in known:
                raise PolicyError(
                    f"{self._folder}: needs the stream '{stream}', which the rig lacks"
                )


def _step_ns(checkpoint: str, rate: str) -> int:
    try:
        return round(NANOSECONDS / Fraction(rate))
    except (ValueError, ZeroDivisionError):
        raise PolicyError(
            f"'{checkpoint}': expected FOLDER@RATE, such as outputs/last/pretrained_model@30"
        ) from None


def _content_hash(folder: Path) -> str:
    """Hash the names and contents of a checkpoint's files."""
    total = hashlib.sha256()
    try:
        for path in sorted(path for path in folder.iterdir() if path.is_file()):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f'{path.name} {content}\n'.encode())
    except OSError as error:
        raise PolicyError(f'{folder}: checkpoint cannot be read ({error.strerror})') from error
    return total.hexdigest()


def _stream(key: str) -> str:
    return key.removeprefix(_IMAGES).removeprefix(_VECTORS)


def _load(folder: Path) -> tuple[Any, Any, Any]:
    configs, factory = _import('lerobot.configs'), _import('lerobot.policies.factory')
    try:
        config = configs.PreTrainedConfig.from_pretrained(folder)
        policy = factory.get_policy_class(config.type).from_pretrained(folder, config=config)
        before, after = factory.make_pre_post_processors(
            config,
            pretrained_path=str(folder),
            preprocessor_overrides={'device_processor': {'device': config.device}},
        )
    except Exception as error:
        raise PolicyError(f'{folder}: expected a policy of LeRobot ({error})') from error
    return policy.eval(), before, after


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PolicyError(f'policies of LeRobot need pip install lerobot ({error})') from error

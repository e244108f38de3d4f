# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A policy from an ONNX checkpoint, through onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass
import hashlib
import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.policy.base import ActionChunk, Observation, PolicyError
from teleop_bridge.rig.schema import Rig

STATE = 'state'            # the input that carries the joints
METADATA_KEY = 'flywheel'  # of the model's metadata properties: one JSON document
_REQUIRED = {'joints', 'inputs', 'step_ns', 'period_ns', 'action_mean', 'action_std'}


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint says of itself.

    ``inputs`` maps the model's input names to the rig's streams, ``state`` among them;
    ``normalisation`` each input to its mean and standard deviation. Outputs are (1, k, n) actions
    ``step_ns`` apart, to be multiplied by ``action_std`` (n) and shifted by ``action_mean`` (n).
    """

    joints: tuple[str, ...]
    inputs: dict[str, str]
    normalisation: dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]]
    step_ns: int
    period_ns: int
    action_mean: NDArray[np.float32]
    action_std: NDArray[np.float32]


class OnnxPolicy:
    """Runs one checkpoint on the CPU.

    Raises PolicyError where the file is no model, says nothing of its inputs, is made for other
    joints or streams than the rig's, or fails at its mean inputs: before anything moves.
    """

    def __init__(self, rig: Rig, checkpoint: str) -> None:
        path = Path(checkpoint)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise PolicyError(f'{path}: checkpoint cannot be read ({error.strerror})') from error
        self.checkpoint = hashlib.sha256(data).hexdigest()
        self._path = path
        self._session = _session(path, data)
        metadata = self._session.get_modelmeta().custom_metadata_map
        self._manifest = _manifest(path, metadata)
        self._check_fits(rig)
        self._run({node.name: self._mean_input(node) for node in self._session.get_inputs()})
        self.inputs = tuple(s for s in self._manifest.inputs.values() if s != STATE)
        self.period_ns = self._manifest.period_ns

    def reset(self) -> None:
        """Forget nothing: the model has no memory."""

    def propose(self, observation: Observation) -> ActionChunk:
        """Run the model once; raises PolicyError for an input or output of another shape."""
        manifest = self._manifest
        feeds = {
            name: self._normalised(name, self._value(stream, observation))
            for name, stream in manifest.inputs.items()
        }
        positions = self._run(feeds) * manifest.action_std + manifest.action_mean
        steps = 1 + np.arange(len(positions), dtype=np.int64)
        times = observation.stamp_ns + manifest.step_ns * steps
        return ActionChunk(times, positions.astype(np.float64))

    def _run(self, feeds: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return the model's normalised actions (k, n)."""
        try:
            output = np.asarray(self._session.run(None, feeds)[0])
        except Exception as error:
            raise PolicyError(f'{self._path}: {error}') from error
        joints = len(self._manifest.joints)
        if output.ndim != 3 or output.shape[0] != 1 or output.shape[2] != joints:
            raise PolicyError(
                f'{self._path}: expected actions of shape (1, k, {joints}), found {output.shape}'
            )
        if not np.isfinite(output).all():
            raise PolicyError(f'{self._path}: expected finite actions, found NaN or infinity')
        return np.asarray(output[0], np.float32)

    def _mean_input(self, node: Any) -> NDArray[np.float32]:
        """Return an input as it is where every value is the mean: normalised, zero."""
        shape = [size if isinstance(size, int) else 1 for size in node.shape]
        mean, std = self._manifest.normalisation[node.name]
        if len(shape) == 2 and not mean.size == std.size == shape[1]:
            raise PolicyError(
                f"{self._path}: its input '{node.name}' takes {shape[1]} values, its "
                f'normalisation has {mean.size} means and {std.size} deviations'
            )
        if not (std > 0).all():
            raise PolicyError(f"{self._path}: the deviations of '{node.name}' must be above 0")
        return np.zeros(shape, np.float32)

    def _value(self, stream: str, observation: Observation) -> NDArray[Any]:
        if stream == STATE:
            return observation.state.positions
        value = observation.values[stream]
        return value.transpose(2, 0, 1) if value.ndim == 3 else value  # images channel first

    def _normalised(self, name: str, value: NDArray[Any]) -> NDArray[np.float32]:
        mean, std = self._manifest.normalisation[name]
        result: NDArray[np.float32] = ((value.astype(np.float32) - mean) / std)[None]
        return result

    def _check_fits(self, rig: Rig) -> None:
        manifest = self._manifest
        if manifest.joints != rig.joint_names:
            raise PolicyError(
                f'{self._path}: made for joints {list(manifest.joints)}, '
                f'the rig has {list(rig.joint_names)}'
            )
        streams = {stream.name for stream in rig.streams} | {STATE}
        if unknown := [s for s in manifest.inputs.values() if s not in streams]:
            raise PolicyError(
                f"{self._path}: needs the stream '{unknown[0]}', which the rig lacks"
            )
        names = {node.name for node in self._session.get_inputs()}
        if names != set(manifest.inputs):
            raise PolicyError(
                f'{self._path}: its inputs are {sorted(names)}, its metadata names '
                f'{sorted(manifest.inputs)}'
            )


def _session(path: Path, data: bytes) -> Any:
    try:
        onnxruntime = importlib.import_module('onnxruntime')
    except ImportError as error:
        raise PolicyError('ONNX checkpoints need onnxruntime: pip install onnxruntime') from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # beside a control loop, on few cores
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(data, options, providers=['CPUExecutionProvider'])
    except Exception as error:
        raise PolicyError(f'{path}: expected an ONNX model ({error})') from error


def _manifest(path: Path, metadata: dict[str, str]) -> Manifest:
    try:
        content = json.loads(metadata.get(METADATA_KEY, '{}'))
    except ValueError as error:
        raise PolicyError(f'{path}: its metadata is broken ({error})') from error
    if missing := sorted(_REQUIRED - set(content)):
        raise PolicyError(f"{path}: its metadata lacks '{missing[0]}'")
    given = content.get('normalisation', {})
    if without := [name for name in content['inputs'] if name not in given]:
        raise PolicyError(f"{path}: its metadata lacks the normalisation of '{without[0]}'")
    try:
        return Manifest(
            joints=tuple(content['joints']),
            inputs=dict(content['inputs']),
            normalisation={
                name: (np.array(entry['mean'], np.float32), np.array(entry['std'], np.float32))
                for name, entry in given.items()
            },
            step_ns=int(content['step_ns']),
            period_ns=int(content['period_ns']),
            action_mean=np.array(content['action_mean'], np.float32),
            action_std=np.array(content['action_std'], np.float32),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise PolicyError(f'{path}: its metadata is broken ({error!r})') from error

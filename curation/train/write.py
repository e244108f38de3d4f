# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A trained network as an ONNX checkpoint that describes itself, as the policy node runs it."""

from __future__ import annotations

from collections.abc import Sequence
import json
import os
from pathlib import Path
from typing import Any

from blake3 import blake3
import numpy as np
from numpy.typing import NDArray

from curation.train.examples import Examples
from curation.train.fit import Fitted
from curation.train.network import STRIDE
from curation.train.options import TrainOptions
from teleop_bridge.exceptions import MissingDependencyError
from teleop_bridge.policy.onnx import METADATA_KEY, STATE

_OPSET, _IR_VERSION = 17, 8  # old enough for the onnxruntime of an Ubuntu 22.04 robot


def description(
    fitted: Fitted, examples: Examples, options: TrainOptions, manifest: str
) -> dict[str, Any]:
    """Return what the checkpoint will say of itself; its graph gives positions as they are."""
    joints = examples.names[STATE]
    about: dict[str, Any] = {
        'joints': joints,
        'inputs': {name: name for name in fitted.order},
        'names': {name: examples.names[name] for name in fitted.order},
        'normalisation': {
            name: {'mean': scaling.mean.tolist(), 'std': scaling.std.tolist()}
            for name, scaling in fitted.inputs.items()
        },
        'action_mean': [0.0] * len(joints),
        'action_std': [1.0] * len(joints),
        'step_ns': options.step_ns,
        'period_ns': options.executed * options.step_ns,
        'manifest': manifest,
        'episodes': int(examples.episode.max()) + 1,
        'seed': options.seed,
    }
    if examples.images is not None and fitted.image is not None:
        camera = examples.images.stream
        height, width = examples.images.full_size
        about['inputs'][camera] = camera
        about['names'][camera] = ['red', 'green', 'blue']
        # Of shape (3, 1, 1), which fits frames with their channels first.
        about['normalisation'][camera] = {
            'mean': fitted.image.mean.reshape(3, 1, 1).tolist(),
            'std': fitted.image.std.reshape(3, 1, 1).tolist(),
        }
        about['image'] = {
            'input': camera, 'height': height, 'width': width, 'pool': examples.images.pool,
        }  # fmt: skip
    return about


def write_checkpoint(fitted: Fitted, about: dict[str, Any], path: Path) -> None:
    """Write the ONNX file, whole or not at all; MissingDependencyError without onnx."""
    try:
        import onnx
        from onnx import helper, numpy_helper
    except ImportError as error:
        raise MissingDependencyError('writing a checkpoint needs pip install onnx') from error
    joints = len(about['joints'])
    last = f'x{len(fitted.layers)}'
    steps = len(fitted.layers[-1][1]) // joints
    state, output = fitted.inputs[STATE], fitted.output
    constants: dict[str, NDArray[Any]] = {
        'state_std': state.std,
        'state_mean': state.mean,
        'output_std': output.std,
        'output_mean': output.mean,
        'chunk': np.array([-1, steps, joints], np.int64),
        'first': np.array([1], np.int64),
    }
    inputs = [
        helper.make_tensor_value_info(
            name, onnx.TensorProto.FLOAT, ['batch', len(fitted.inputs[name].mean)]
        )
        for name in fitted.order
    ]
    nodes, seen = [], []
    if image := about.get('image'):
        shape = ['batch', 3, image['height'], image['width']]
        inputs.append(
            helper.make_tensor_value_info(image['input'], onnx.TensorProto.FLOAT, shape)
        )
        nodes = _eye_nodes(helper, fitted, image, constants)
        seen = ['seen']
    nodes.append(helper.make_node('Concat', [*fitted.order, *seen], ['x0'], axis=1))
    for index, (weight, bias) in enumerate(fitted.layers):
        constants |= {f'w{index}': weight, f'b{index}': bias}
        is_last = index == len(fitted.layers) - 1
        out = last if is_last else f'y{index}'
        nodes.append(
            helper.make_node('Gemm', [f'x{index}', f'w{index}', f'b{index}'], [out], transB=1)
        )
        if not is_last:
            nodes.append(helper.make_node('Relu', [out], [f'x{index + 1}']))
    # What was learnt are moves away from the measured joints: restore both, and add them.
    for kind, operands, result in (
        ('Reshape', [last, 'chunk'], 'scaled'),
        ('Mul', ['scaled', 'output_std'], 'centred'),
        ('Add', ['centred', 'output_mean'], 'moves'),
        ('Mul', [STATE, 'state_std'], 'offset'),
        ('Add', ['offset', 'state_mean'], 'measured'),
        ('Unsqueeze', ['measured', 'first'], 'here'),
        ('Add', ['moves', 'here'], 'action'),
    ):
        nodes.append(helper.make_node(kind, operands, [result]))
    shape = ['batch', steps, joints]
    graph = helper.make_graph(
        nodes,
        'policy',
        inputs,
        [helper.make_tensor_value_info('action', onnx.TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid('', _OPSET)], ir_version=_IR_VERSION
    )
    helper.set_model_props(model, {METADATA_KEY: json.dumps(about, sort_keys=True)})
    onnx.checker.check_model(model)
    partial = path.with_name(f'{path.name}.{os.getpid()}')
    partial.write_bytes(model.SerializeToString())
    os.replace(partial, path)


def _eye_nodes(
    helper: Any, fitted: Fitted, image: dict[str, Any], constants: dict[str, NDArray[Any]]
) -> list[Any]:
    """Pool the frame as training did, then convolve; adds the weights to the constants."""
    pool = [image['pool']] * 2
    nodes = [
        helper.make_node(
            'AveragePool', [image['input']], ['e0'], kernel_shape=pool, strides=pool
        )
    ]
    for index, (weight, bias) in enumerate(fitted.eye):
        constants |= {f'ew{index}': weight, f'eb{index}': bias}
        nodes += [
            helper.make_node(
                'Conv',
                [f'e{index}', f'ew{index}', f'eb{index}'],
                [f'c{index}'],
                strides=[STRIDE, STRIDE],
                pads=[weight.shape[2] // 2] * 4,
            ),
            helper.make_node('Relu', [f'c{index}'], [f'e{index + 1}']),
        ]
    nodes.append(helper.make_node('Flatten', [f'e{len(fitted.eye)}'], ['seen']))
    return nodes


def episodes_hash(ids: Sequence[str]) -> str:
    """Return the BLAKE3 hash of an ordered list of episode ids."""
    return blake3('\n'.join(ids).encode()).hexdigest()

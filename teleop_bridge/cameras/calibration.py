# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A camera's intrinsics from the YAML file that ROS's camera_calibration writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from teleop_bridge.rig.section import parse_yaml, read_text, Section


@dataclass(frozen=True)
class CameraCalibration:
    """Intrinsics: ``k`` (9), ``d`` (any), ``r`` (9), ``p`` (12), row by row, in pixels."""

    width: int
    height: int
    model: str
    k: tuple[float, ...]
    d: tuple[float, ...]
    r: tuple[float, ...]
    p: tuple[float, ...]


def load_calibration(path: Path) -> CameraCalibration:
    """Read a calibration file; raises RigError naming file, key, expected and found."""
    top = parse_yaml(read_text(path), str(path))
    top.text('camera_name', '')
    calibration = CameraCalibration(
        width=top.whole('image_width'),
        height=top.whole('image_height'),
        model=top.text('distortion_model'),
        k=_matrix(top, 'camera_matrix', 9),
        d=_matrix(top, 'distortion_coefficients', None),
        r=_matrix(top, 'rectification_matrix', 9),
        p=_matrix(top, 'projection_matrix', 12),
    )
    top.done()
    return calibration


def _matrix(top: Section, key: str, size: int | None) -> tuple[float, ...]:
    section = top.section(key)
    if section is None:
        top.fail(key, 'required key is missing')
    section.whole('rows', 0)
    section.whole('cols', 0)
    values = section.numbers('data')
    if size is not None and len(values) != size:
        section.fail('data', f'expected {size} numbers, found {len(values)}')
    section.done()
    return values

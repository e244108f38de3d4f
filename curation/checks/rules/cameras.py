# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Cameras whose calibration or place changed between episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, episode_check, Limits
from curation.checks.summary import CameraSummary, Summary
from curation.checks.view import View
from recorder.reference import ReferenceFrames
from teleop_bridge.rig.schema import Role


@episode_check('calibration', relative=1e-6)
def within(view: View, limits: Limits) -> Iterator[Finding]:
    """Find intrinsics that change within an episode."""
    for series in view.series(Role.CAMERA_INFO):
        if series.table is None:
            continue
        values = series.table.values
        change = np.abs(values - values[0]) / np.maximum(np.abs(values[0]), 1e-9)
        if change.max() > limits['relative']:
            at = int(np.argmax(change.max(axis=1) > limits['relative']))
            yield view.find(
                Severity.ERROR,
                series.stream.name,
                "the camera's calibration changes",
                value=change.max(),
                threshold=limits['relative'],
                start_ns=series.stamps_ns[at],
                end_ns=series.stamps_ns[-1],
                advice='restart the driver only between sessions',
            )


@collection_check('calibration', relative=1e-6)
def between(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find the first episode with another calibration than the one before."""
    for name in sorted({name for s in summaries for name in s.calibrations}):
        having = sorted((s for s in summaries if name in s.calibrations), key=lambda s: s.start_ns)
        for before, after in zip(having, having[1:], strict=False):
            (old, old_text), (new, new_text) = before.calibrations[name], after.calibrations[name]
            change = max(abs(b - a) / max(abs(a), 1e-9) for a, b in zip(old, new, strict=True))
            if change > limits['relative'] or old_text != new_text:
                yield after.find(
                    Severity.WARNING,
                    f'its calibration is not that of {before.episode}',
                    stream=name,
                    value=change,
                    threshold=limits['relative'],
                    advice='check that the camera really was calibrated anew',
                )


@collection_check('camera_moved', pixels=3.0, static=0.4, response=0.25)
def moved(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find cameras whose static background is shifted against the other episodes, in pixels."""
    for name in sorted({name for s in summaries for name in s.cameras}):
        having = [
            s for s in summaries if name in s.cameras and s.cameras[name].static > limits['static']
        ]
        shapes = {s.cameras[name].background.shape for s in having}
        if len(having) < 3 or len(shapes) > 1:
            continue
        usual = np.median([s.cameras[name].background for s in having], axis=0).astype(np.float32)
        for summary in having:
            camera = summary.cameras[name]
            shift, response = _shift(usual, camera)
            if shift > limits['pixels'] and response > limits['response']:
                yield _moved(summary, name, shift, 'the other episodes', limits)


def against_references(
    summaries: Sequence[Summary], frames: ReferenceFrames, limits: Limits
) -> Iterator[Finding]:
    """Find cameras that moved since their location's reference frame was kept, in pixels."""
    for summary in summaries:
        reference = frames.get(summary.task, summary.location)
        name = next(iter(summary.cameras), '')
        if reference is None or not name:
            continue
        camera = summary.cameras[name]
        size = camera.background.shape[::-1]
        grey = cv2.resize(reference, size, interpolation=cv2.INTER_AREA).mean(axis=2)
        shift, response = _shift(grey.astype(np.float32), camera)
        if shift > limits['pixels'] and response > limits['response']:
            finding = _moved(summary, name, shift, "the location's reference frame", limits)
            yield replace(finding, check='camera_moved')


def _shift(usual: NDArray[np.float32], camera: CameraSummary) -> tuple[float, float]:
    """Return by how many pixels a background is shifted, and the peak's response, 0 to 1."""
    window = cv2.createHanningWindow(usual.shape[::-1], cv2.CV_32F)
    # OpenCV windows its arguments in place
    (x, y), response = cv2.phaseCorrelate(usual.copy(), camera.background.copy(), window)
    return float(np.hypot(x, y)) * camera.scale, float(response)


def _moved(summary: Summary, name: str, shift: float, what: str, limits: Limits) -> Finding:
    return summary.find(
        Severity.WARNING,
        f'the camera moved by {shift:.1f} pixels against {what}',
        stream=name,
        value=shift,
        threshold=limits['pixels'],
        advice='fix the camera and measure its extrinsics again',
    )

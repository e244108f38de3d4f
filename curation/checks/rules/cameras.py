# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Cameras whose calibration or place changed between episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from curation.checks.among import by_camera
from curation.checks.features import WIDTH
from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, episode_check, Limits
from curation.checks.summary import PARTS, Summary
from curation.checks.view import View
from recorder.reference import ReferenceFrames
from teleop_bridge.rig.schema import Role

_SMOOTH = 5  # pixels of a thumbnail


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


@episode_check('camera_moved', within_pixels=4.0)
def moved_within(view: View, limits: Limits) -> Iterator[Finding]:
    """Find cameras whose background is shifted from the first third to the last, in pixels."""
    for name, features in view.features.items():
        count = len(features.thumbs) // PARTS
        if count < 3:
            continue
        grey = features.thumbs.mean(axis=3, dtype=np.float32)
        first, last = (np.median(part, axis=0) for part in (grey[:count], grey[-count:]))
        if _static(grey[:count], first) < limits['static']:
            continue
        shift = _shift(first.astype(np.float32), last.astype(np.float32), limits)
        limit = limits['within_pixels'] * _unit(features.scale)
        if shift * features.scale > limit:
            yield view.find(
                Severity.WARNING,
                name,
                f'the camera moved by {shift * features.scale:.1f} pixels in mid-episode',
                value=shift * features.scale,
                threshold=limit,
                start_ns=features.stamps_ns[len(features) // PARTS],
                end_ns=features.stamps_ns[-1],
                advice='fix the camera and measure its extrinsics again',
            )


@collection_check('camera_moved', pixels=3.0, static=0.4, response=0.25, explained=0.5)
def moved(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find cameras whose static background is shifted against the other episodes.

    In pixels of an image 640 wide.
    """
    for name, having in by_camera(summaries):
        still = [s for s in having if s.cameras[name].static > limits['static']]
        if len(still) < 3:
            continue
        usual = np.median([s.cameras[name].background for s in still], axis=0).astype(np.float32)
        for summary in still:
            yield from _moved(summary, name, usual, 'the other episodes', limits)


def against_references(
    summaries: Sequence[Summary], frames: ReferenceFrames, limits: Limits
) -> Iterator[Finding]:
    """Find cameras that moved since their location's reference frame was kept, in pixels."""
    for summary in summaries:
        reference = frames.get(summary.task, summary.location)
        name = next(iter(summary.cameras), '')
        if reference is None or not name:
            continue
        size = summary.cameras[name].background.shape[::-1]
        grey = cv2.resize(reference, size, interpolation=cv2.INTER_AREA).mean(axis=2)
        for finding in _moved(
            summary, name, grey.astype(np.float32), "the location's reference frame", limits
        ):
            yield replace(finding, check='camera_moved')


def _moved(
    summary: Summary, name: str, usual: NDArray[np.float32], what: str, limits: Limits
) -> Iterator[Finding]:
    camera = summary.cameras[name]
    shift = _shift(usual, camera.background, limits) * camera.scale
    limit = limits['pixels'] * _unit(camera.scale)
    if shift > limit:
        yield summary.find(
            Severity.WARNING,
            f'the camera moved by {shift:.1f} pixels against {what}',
            stream=name,
            value=shift,
            threshold=limit,
            advice='fix the camera and measure its extrinsics again',
        )


def _unit(scale: float) -> float:
    """Return how many full-size pixels are one of an image 640 wide."""
    return scale * WIDTH / 640


def _static(grey: NDArray[np.float32], background: NDArray[np.float32]) -> float:
    return float((np.median(np.abs(grey - background), axis=0) < 4).mean())


def _shift(usual: NDArray[np.float32], now: NDArray[np.float32], limits: Limits) -> float:
    """Return by how many of their pixels a background is shifted or turned, 0 if it can't be told.

    Root mean square over the image. A turn is believed where it explains most of what differs, a
    shift alone where the phase correlation's peak is clear.
    """
    window = cv2.createHanningWindow(usual.shape[::-1], cv2.CV_32F)
    # OpenCV windows its arguments in place
    (x, y), response = cv2.phaseCorrelate(usual.copy(), now.copy(), window)
    warp = np.eye(2, 3, dtype=np.float32)
    if response > limits['response']:
        warp[:, 2] = x, y
    before = _differ(usual, now)
    try:
        ends = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 60, 1e-5)
        everywhere = np.ones(now.shape, np.uint8)
        alike, found = cv2.findTransformECC(
            usual, now, warp, cv2.MOTION_EUCLIDEAN, ends, everywhere, _SMOOTH
        )
        warp = np.asarray(found, np.float32)
    except cv2.error:  # it does not converge
        alike = -1.0
    if 1 - alike < limits['explained'] * before:
        height, width = usual.shape
        corners = np.mgrid[0:width:5j, 0:height:5j].reshape(2, -1)
        moved = warp[:, :2] @ corners + warp[:, 2:] - corners
        return float(np.sqrt((moved**2).sum(axis=0).mean()))
    return float(np.hypot(x, y)) if response > limits['response'] else 0.0


def _differ(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Return one less the correlation of two images, smoothed as the estimate of a turn does."""
    a, b = (cv2.GaussianBlur(image, (_SMOOTH, _SMOOTH), 0).ravel() for image in (one, other))
    size = float(a.std() * b.std())
    return 1 - float(((a - a.mean()) * (b - b.mean())).mean()) / size if size else 0.0

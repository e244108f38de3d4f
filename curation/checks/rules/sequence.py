# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Samples that are doubled, out of order, or were put on a new grid after some were lost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from curation.checks.finding import Finding, Severity
from curation.checks.motion import reach
from curation.checks.registry import episode_check, Limits
from curation.checks.signal import Flags, spans
from curation.checks.view import Motion, View
from teleop_bridge.rig.schema import Role

_ROLES = (Role.STATE, Role.ACTION)


def _steps(motion: Motion) -> np.ndarray:
    """Return steps (n - 1, k) in parts of each joint's range; joints that rest count nothing."""
    ranges = reach(motion.positions)
    used = ranges > 1e-3
    return np.diff(motion.positions[:, used], axis=0) / ranges[used]


@episode_check('repeated_samples', part=0.02, least=3)
def repeated(view: View, limits: Limits) -> Iterator[Finding]:
    """Find samples that repeat the one before while the motion goes on around them."""
    for role in _ROLES:
        motion = view.motion(role)
        if motion is None or len(motion) < 12:
            continue
        size = np.abs(_steps(motion)).sum(axis=1)
        usual = np.median(size)
        same = size == 0
        around = np.minimum(np.roll(size, 1), np.roll(size, -1))
        # a repeat is made good by a double step: it stands alone among moving neighbours
        lone = same & (around > 0.5 * usual) & (around > 0)
        lone[[0, -1]] = False
        if lone.sum() >= limits['least'] and lone.mean() > limits['part']:
            at = np.flatnonzero(lone)
            yield view.find(
                Severity.WARNING,
                motion.stream,
                f'{lone.mean():.1%} of its samples repeat the one before',
                value=lone.mean(),
                threshold=limits['part'],
                start_ns=motion.stamps_ns[at[0]],
                end_ns=motion.stamps_ns[at[-1] + 1],
                advice="record at the stream's own rate instead of filling a faster grid",
            )


@episode_check('reordered_samples', turn=0.6, least=1)
def reordered(view: View, limits: Limits) -> Iterator[Finding]:
    """Find neighbouring samples that are exchanged: the motion steps forth, back and forth."""
    for role in _ROLES:
        motion = view.motion(role)
        if motion is None or len(motion) < 12:
            continue
        steps = _steps(motion)
        size = np.linalg.norm(steps, axis=1)
        a, b, c = steps[:-2], steps[1:-1], steps[2:]
        around = np.linalg.norm(a + b + c, axis=1)
        # exchanging samples i and i+1 of an even motion v gives the steps 2v, -v, 2v
        against = -(b * (a + c)).sum(axis=1) / np.maximum(
            np.linalg.norm(b, axis=1) * np.linalg.norm(a + c, axis=1), 1e-12
        )
        alike = 1 - np.linalg.norm(a - c, axis=1) / np.maximum(
            np.linalg.norm(a + c, axis=1), 1e-12
        )
        flags = (
            (against > 0.9)
            & (alike > limits['turn'])
            & (np.linalg.norm(b, axis=1) > 0.25 * around)
            & (around > 1.5 * np.median(size))
            & (around > 0.02)
        )
        if flags.sum() >= limits['least']:
            at = np.flatnonzero(flags)
            yield view.find(
                Severity.ERROR,
                motion.stream,
                f'{len(at)} times neighbouring samples look exchanged',
                value=len(at),
                threshold=limits['least'] - 1,
                start_ns=motion.stamps_ns[at[0]],
                end_ns=motion.stamps_ns[at[-1] + 3],
                advice='keep the order of stamps when merging or converting',
            )


@episode_check('hidden_gap', ratio=3.0, alike=0.8, least=0.03)
def hidden_gap(view: View, limits: Limits) -> Iterator[Finding]:
    """Find a jump in the motion without a jump in time: samples were lost and the rest re-gridded.

    The steps before and after agree and the step between is several times as long in the same
    direction, in state and command together where both are there.
    """
    jumps: Flags | None = None
    first: Motion | None = None
    ratios = None
    for role in _ROLES:
        motion = view.motion(role)
        if motion is None or len(motion) < 20:
            continue
        flags, ratio = _jumps(motion, limits)
        if first is None:
            first, jumps, ratios = motion, flags, ratio
        elif len(flags) == (0 if jumps is None else len(jumps)):
            near = flags | np.roll(flags, 1) | np.roll(flags, -1)
            jumps = near if jumps is None else jumps & near
    if first is None or jumps is None or ratios is None:
        return
    for start, end in spans(jumps)[:3]:
        yield view.find(
            Severity.ERROR,
            first.stream,
            f'the motion jumps by {ratios[start]:.1f} usual steps within one',
            value=ratios[start],
            threshold=limits['ratio'],
            start_ns=first.stamps_ns[start],
            end_ns=first.stamps_ns[min(end, len(first) - 1)],
            advice='samples are missing here though the times run on: go back to the source',
        )


def _jumps(motion: Motion, limits: Limits) -> tuple[Flags, np.ndarray]:
    steps = _steps(motion)
    size = np.linalg.norm(steps, axis=1)
    padded = np.pad(size, 3, mode='edge')
    windows = np.lib.stride_tricks.sliding_window_view(padded, 7)
    neighbours = np.delete(windows, 3, axis=1)
    usual = np.maximum(neighbours.max(axis=1), 1e-9)
    before = np.vstack([steps[:1], steps[:-1]])
    after = np.vstack([steps[1:], steps[-1:]])
    around = before + after
    cosine = (steps * around).sum(axis=1) / np.maximum(
        size * np.linalg.norm(around, axis=1), 1e-12
    )
    ratio = size / usual
    flags = (
        (ratio > limits['ratio'])
        & (size > limits['least'])
        & ((cosine > limits['alike']) | (size > 8 * usual))
    )
    same_time = np.diff(motion.stamps_ns) < 1.5 * np.median(np.diff(motion.stamps_ns))
    return flags & same_time, ratio

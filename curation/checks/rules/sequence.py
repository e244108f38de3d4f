# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Samples that are doubled, out of order, or were put on a new grid after some were lost."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from curation.align.episode import Values
from curation.checks.finding import Finding, Severity
from curation.checks.motion import reach
from curation.checks.registry import episode_check, Limits
from curation.checks.signal import spans
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


@episode_check('hidden_gap', jump=2.4, share=0.22, alone_jump=5.0, alone_share=0.35)
def hidden_gap(view: View, limits: Limits) -> Iterator[Finding]:
    """Find a jump in the motion without a jump in time: samples were lost and the rest re-gridded.

    At a moment of lost samples most joints leap at once, in state and command alike, while the
    steps before and after go on evenly.
    """
    motions = [motion for role in _ROLES if (motion := view.motion(role)) is not None]
    motions = [motion for motion in motions if len(motion) >= 30]
    if not motions:
        return
    leaps = [_leaps(motion) for motion in motions]
    first = motions[0]
    both = len(motions) > 1 and len(motions[0]) == len(motions[1])
    if both:
        jump = np.sqrt(leaps[0][0] * leaps[1][0])
        share = (leaps[0][1] + leaps[1][1]) / 2
    else:
        jump, share = leaps[0]
    even = np.diff(first.stamps_ns) < 1.5 * np.median(np.diff(first.stamps_ns))
    flags = (
        (jump > limits['jump' if both else 'alone_jump'])
        & (share > limits['share' if both else 'alone_share'])
        & even[1:-1]
    )
    for start, end in spans(flags)[:3]:
        worst = start + int(np.argmax(jump[start:end]))
        yield view.find(
            Severity.ERROR,
            first.stream,
            f'{share[worst]:.0%} of the joints jump within one step',
            value=jump[worst],
            threshold=limits['jump' if both else 'alone_jump'],
            start_ns=first.stamps_ns[start],
            end_ns=first.stamps_ns[min(end + 2, len(first) - 1)],
            advice='samples are missing here though the times run on: go back to the source',
        )


def _leaps(motion: Motion) -> tuple[Values, Values]:
    """Return how much each step departs from its neighbours, and the share of joints that do.

    Both (n - 3,), for the second step to the last but one; 1 is what a joint exceeds at 5 % of its
    steps.
    """
    steps = np.diff(motion.positions, axis=0)
    apart = np.abs(steps[1:-1] - (steps[:-2] + steps[2:]) / 2)
    apart = apart / (np.percentile(apart, 95, axis=0) + 1e-3)
    size = np.sqrt((np.minimum(apart, 20) ** 2).mean(axis=1))
    return size, (apart > 1.5).mean(axis=1)

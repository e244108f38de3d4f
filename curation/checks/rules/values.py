# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Values that are not finite, beyond their limits, or stay at them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.checks.among import others_limit, same_joints
from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, episode_check, Limits
from curation.checks.signal import spans
from curation.checks.summary import Summary
from curation.checks.view import View
from teleop_bridge.rig.schema import Role

_LEAST_RANGE = 0.02  # rad or m that a joint moves if it is to say anything


@episode_check('not_finite')
def not_finite(view: View, limits: Limits) -> Iterator[Finding]:
    """Find NaN and infinity."""
    for series in view.series():
        if series.joints is not None:
            values, there = series.joints.positions, series.joints.present
            if series.stream.role is Role.LOAD:
                continue
            names = series.joints.names
        elif series.table is not None:
            values, names = series.table.values, series.table.names
            there = np.ones(values.shape, bool)
        else:
            continue
        bad = there & ~np.isfinite(values)
        if bad.any():
            rows, columns = np.nonzero(bad)
            yield view.find(
                Severity.ERROR,
                series.stream.name,
                f'{len(np.unique(rows))} messages have values that are not finite, the first in '
                f"'{names[columns[0]]}'",
                value=len(np.unique(rows)),
                threshold=0,
                start_ns=series.stamps_ns[rows[0]],
                end_ns=series.stamps_ns[rows[-1]],
                advice="look at the driver; such samples can't be trained on",
            )


@episode_check('limits', beyond=0.02, dwell_s=1.5, near=0.005)
def joint_limits(view: View, limits: Limits) -> Iterator[Finding]:
    """Find joints beyond their declared limits, or resting at one while they are commanded on."""
    joints = {joint.name: joint for joint in view.rig.joints}
    for motion in (view.state, view.action):
        if motion is None:
            continue
        for column, name in enumerate(motion.names):
            joint, values = joints[name], motion.positions[:, column]
            size = joint.upper - joint.lower
            if not np.isfinite(size):
                continue
            over = np.maximum(values - joint.upper, joint.lower - values)
            if over.max() > limits['beyond'] * size:
                at = int(np.argmax(over))
                yield view.find(
                    Severity.WARNING,
                    motion.stream,
                    f"joint '{name}' is {over[at]:.3f} beyond its limits",
                    value=over[at],
                    threshold=limits['beyond'] * size,
                    start_ns=motion.stamps_ns[at],
                    end_ns=motion.stamps_ns[at],
                    advice='look for wrong units, sign or limits',
                )
            if joint.kind.value == 'gripper':
                continue
            at_end = (values > joint.upper - limits['near'] * size) | (
                values < joint.lower + limits['near'] * size
            )
            for start, end in spans(at_end):
                seconds = (motion.stamps_ns[end - 1] - motion.stamps_ns[start]) / 1e9
                if seconds > limits['dwell_s']:
                    yield view.find(
                        Severity.WARNING,
                        motion.stream,
                        f"joint '{name}' stays at its limit for {seconds:.1f} s",
                        value=seconds,
                        threshold=limits['dwell_s'],
                        start_ns=motion.stamps_ns[start],
                        end_ns=motion.stamps_ns[end - 1],
                        advice='move the base or the object so that the task fits the workspace',
                    )
                    break


@collection_check(
    'saturation', part=0.06, gain=2.5, alone=0.75, extreme=0.22, extreme_gain=4.0, cut=0.12
)
def saturation(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find joints that stay at a value while they are commanded beyond, unlike in others.

    Or whose state or command is exactly at its extreme much more often than in other episodes.
    """
    for group in same_joints(summaries):
        many = len(group) >= 5
        for words, values, gain, least, alone in (
            (
                'stays at its extreme in {:.0%} of the samples while it is commanded beyond',
                [s.clipped.size for s in group],
                *(limits['gain'], limits['part'], limits['alone']),
            ),
            (
                'stands in {:.0%} of the samples while its command moves',
                [s.stuck_share for s in group],
                *(limits['gain'], limits['part'], limits['alone']),
            ),
            (
                'is exactly at its extreme in {:.0%} of the samples',
                [s.extremes for s in group],
                *(limits['extreme_gain'], limits['extreme'], np.inf),  # alone it may rest there
            ),
            (
                'is commanded to exactly its extreme in {:.0%} of the samples',
                [s.command_extremes for s in group],
                *(limits['extreme_gain'], limits['extreme'], np.inf),
            ),
            (
                'is commanded to its extreme as if cut off, in {:.0%} of the samples',
                [s.command_cut for s in group],
                *(limits['gain'], limits['cut'], np.inf),
            ),
        ):
            shares = np.array(values)
            limit = np.full(shares.shape, alone)
            if many:
                limit = np.maximum(others_limit(shares, gain), least)
            for summary, share, most in zip(group, shares, limit, strict=True):
                over = np.where(summary.high - summary.low >= _LEAST_RANGE, share / most, 0)
                k = int(np.argmax(over))
                if over[k] > 1:
                    yield summary.find(
                        Severity.WARNING,
                        f"joint '{summary.names[k]}' {words.format(share[k])}",
                        value=share[k],
                        threshold=most[k],
                        advice='look for a clipped signal or a joint at its stop',
                        span_ns=summary.clipped.span_ns[k],
                    )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Values that are not finite, beyond their limits, or stay at them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.align.episode import Values
from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, episode_check, Limits
from curation.checks.rules.joint_identity import same_joints
from curation.checks.signal import spans
from curation.checks.summary import Summary
from curation.checks.view import View
from teleop_bridge.rig.schema import Role


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


@collection_check('saturation', part=0.06, over=2.0, alone=0.75, extreme=0.28, extreme_over=4.0)
def saturation(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find joints that stay at an extreme while they are commanded beyond, unlike in others.

    Without commands: that are exactly at an extreme much more often than in other episodes.
    """
    for group in same_joints(summaries):
        held = np.array([s.clipped.size for s in group])
        limit = np.full(held.shape, limits['alone'])
        extremes = np.array([s.extremes for s in group])
        often = np.full(held.shape, np.inf)  # alone it may rest there
        if len(group) >= 5:
            limit = np.maximum(limits['over'] * _most_of_others(held), limits['part'])
            often = np.maximum(
                limits['extreme_over'] * _most_of_others(extremes), limits['extreme']
            )
        for i, summary in enumerate(group):
            moves = summary.high - summary.low >= 0.02
            over = np.where(moves, held[i] / limit[i], 0)
            k = int(np.argmax(over))
            if over[k] > 1:
                yield summary.find(
                    Severity.WARNING,
                    f"joint '{summary.names[k]}' stays at its extreme in {held[i, k]:.0%} of the "
                    'samples while it is commanded beyond',
                    value=held[i, k],
                    threshold=limit[i, k],
                    advice='look for a clipped signal or a joint at its stop',
                    span_ns=summary.clipped.span_ns[k],
                )
                continue
            over = np.where(moves, extremes[i] / often[i], 0)
            k = int(np.argmax(over))
            if over[k] > 1:
                yield summary.find(
                    Severity.WARNING,
                    f"joint '{summary.names[k]}' is exactly at its extreme in "
                    f'{extremes[i, k]:.0%} of the samples',
                    value=extremes[i, k],
                    threshold=often[i, k],
                    advice='look for a clipped signal or a joint at its stop',
                )


def _most_of_others(values: Values) -> Values:
    """Return for each episode and joint the most of any other episode (n, k)."""
    top = np.sort(values, axis=0)[-2:]
    return np.asarray(np.where(values == top[1], top[0], top[1]))

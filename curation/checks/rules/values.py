# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Values that are not finite, beyond their limits, or stay at them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

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


@collection_check('saturation', part=0.1, gain=14.0, over=4.0, alone=0.28)
def saturation(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find joints that are clipped: often exactly at their extreme, unlike in other episodes."""
    for group in same_joints(summaries):
        shares = np.array([s.extremes for s in group])
        limit = np.full(shares.shape, limits['alone'])
        if len(group) >= 5:
            usual = limits['gain'] * np.percentile(shares, 90, axis=0)
            top = np.sort(shares, axis=0)[-2:]
            others = np.where(shares == top[1], top[0], top[1])  # the most of any other episode
            limit = np.maximum(np.minimum(usual, limits['over'] * others), limits['part'])
        for summary, share, most in zip(group, shares, limit, strict=True):
            rests = summary.high - summary.low < 0.02
            over = np.where(rests, 0, share / most)
            worst = int(np.argmax(over))
            if over[worst] > 1:
                yield summary.find(
                    Severity.WARNING,
                    f"joint '{summary.names[worst]}' is exactly at its extreme in "
                    f'{share[worst]:.0%} of the samples',
                    value=share[worst],
                    threshold=most[worst],
                    advice='look for a clipped signal or a joint at its stop',
                )

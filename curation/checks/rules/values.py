# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Values that are not finite, beyond their limits, or stay at them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.align.episode import Values
from curation.checks.among import others_limit, same_joints
from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, episode_check, Limits
from curation.checks.signal import Flags, spans
from curation.checks.summary import Summary
from curation.checks.view import View
from teleop_bridge.rig.schema import Role

_LEAST_GROUP = 5  # episodes
_SAME = 1e-6  # rad or m
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


@collection_check('saturation', part=0.06, gain=2.5, extreme=0.35, extreme_gain=4.0, cut=0.12)
def saturation(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find joints that stay at an end of their motion, clipped, unlike in other episodes.

    They stay at a value while they are commanded beyond, or stop there as if cut off, or are
    exactly there for long. An end at which others end, too, and none goes beyond, is the joint's.
    """
    for group in same_joints(summaries):
        if len(group) < _LEAST_GROUP:
            continue
        ends = _own_ends(np.array([s.ends for s in group]))
        ends |= group[0].grippers  # which stay where they hold an object
        command_ends = _own_ends(np.array([s.command_ends for s in group]))
        told: set[tuple[str, int]] = set()
        for words, values, own, gain, least in (
            (
                'stays at its extreme in {:.0%} of the samples while it is commanded beyond',
                *([s.clipped.size for s in group], ends, limits['gain'], limits['part']),
            ),
            (
                'is commanded to its extreme as if cut off, in {:.0%} of the samples',
                *([s.command_cut for s in group], command_ends, limits['gain'], limits['cut']),
            ),
            (
                'is exactly at its extreme in {:.0%} of the samples',
                *([s.at_ends for s in group], ends, limits['extreme_gain'], limits['extreme']),
            ),
            (
                'is commanded to exactly its extreme in {:.0%} of the samples',
                [s.command_at_ends for s in group],
                *(command_ends, limits['extreme_gain'], limits['extreme']),
            ),
        ):
            shares = np.where(own, 0.0, np.array(values))
            flat = others_limit(shares.reshape(len(group), -1), gain)
            most = np.maximum(flat.reshape(shares.shape), least)
            for summary, share, limit in zip(group, shares, most, strict=True):
                over = np.where(np.ptp(summary.ends, axis=0) >= _LEAST_RANGE, share / limit, 0)
                side, k = np.unravel_index(int(np.argmax(over)), over.shape)
                if over[side, k] > 1 and (summary.episode, int(k)) not in told:
                    told.add((summary.episode, int(k)))
                    yield summary.find(
                        Severity.WARNING,
                        f"joint '{summary.names[k]}' {words.format(share[side, k])}",
                        value=share[side, k],
                        threshold=limit[side, k],
                        advice='look for a clipped signal or a joint at its stop',
                        span_ns=summary.clipped.span_ns[side, k],
                    )


def _own_ends(ends: Values) -> Flags:
    """Return which ends (n, 2, k) of n episodes are the joints' own.

    Two episodes end at exactly the same value, and none goes beyond.
    """
    outer = np.stack([ends[:, 0].min(axis=0), ends[:, 1].max(axis=0)])
    at = np.abs(ends - outer) < _SAME
    return np.asarray(at & (at.sum(axis=0) >= 2))

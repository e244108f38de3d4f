# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Joints exchanged, sign-flipped or in other units for a whole episode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math

import numpy as np
from scipy.optimize import linear_sum_assignment

from curation.align.episode import Values
from curation.checks.among import same_joints
from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, episode_check, Limits
from curation.checks.summary import Summary
from curation.checks.view import View

_UNITS = {
    'degrees for radians': math.degrees(1),
    'radians for degrees': math.radians(1),
    'thousandths': 1000.0,
    'a thousandth': 0.001,
}


@episode_check('joint_identity', gain=3.0)
def against_command(view: View, limits: Limits) -> Iterator[Finding]:
    """Find joints that follow another joint's command, its opposite, or it in other units."""
    state, action = view.state, view.action
    if state is None or action is None or set(state.names) != set(action.names):
        return
    command = action.at(state.stamps_ns)[:, [action.names.index(name) for name in state.names]]
    there = np.isfinite(command).all(axis=1)
    if there.sum() < 12:
        return
    measured, command = state.positions[there], command[there]
    far = np.abs(measured - command).mean(axis=0)
    for column, name in enumerate(state.names):
        a, b = measured[:, column], command[:, column]
        size = np.abs(b).mean()
        if size < 0.05 and np.ptp(b) < 0.05:
            continue
        if (
            far[column] > 0.3 * size
            and far[column] > limits['gain'] * 2 * np.abs(a + b).mean() + 0.02
        ):
            yield view.find(
                Severity.ERROR,
                state.stream,
                f"joint '{name}' is the opposite of its command",
                value=far[column] / max(np.abs(a + b).mean(), 1e-6),
                threshold=limits['gain'],
                advice="correct its sign in the driver or in the leader's mapping",
            )
        ratio = np.abs(a).mean() / max(size, 1e-9)
        for word, unit in _UNITS.items():
            if (
                abs(math.log(max(ratio, 1e-12) / unit)) < 0.15
                and np.abs(a - unit * b).mean() < 0.2 * unit * size
            ):
                yield view.find(
                    Severity.ERROR,
                    state.stream,
                    f"joint '{name}' is in other units than its command ({word})",
                    value=ratio,
                    threshold=1,
                    advice='convert at the driver; SI units everywhere',
                )
    cost = np.abs(measured[:, :, None] - command[:, None, :]).mean(axis=0)
    rows, columns = linear_sum_assignment(cost)
    moved = [k for k in rows if columns[k] != k]
    if moved:
        before, after = cost[moved, moved].sum(), cost[moved, columns[moved]].sum()
        gain = before / max(after, 1e-6)
        if gain > limits['gain'] and before / len(moved) > 0.03:
            yield view.find(
                Severity.ERROR,
                state.stream,
                'the joints '
                f"{', '.join(state.names[k] for k in moved)} follow each other's commands",
                value=gain,
                threshold=limits['gain'],
                advice='their names or ids are exchanged in the driver or in the mapping',
            )


@collection_check(
    'joint_profile',
    gain=3.0,
    least=5,
    pair_gain=2.6,
    end_gain=5.0,
    far=6.5,
    near=4.5,
    like_gain=2.5,
)
def against_others(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find episodes that fit the others only with joints exchanged, flipped or in other units."""
    for group in same_joints(summaries):
        if len(group) < limits['least']:
            continue
        profiles = np.array([[s.low, s.median, s.high] for s in group])  # (episodes, 3, k)
        usual = np.median(profiles, axis=0)
        scatter = 1.4826 * np.median(np.abs(profiles - usual), axis=0).mean(axis=0) + 0.02
        for summary, profile in zip(group, profiles, strict=True):
            yield from _compare(summary, profile, usual, scatter, limits)
        yield from _flipped(group, limits)
        yield from _exchanged_pairs(group, limits)


def _compare(
    summary: Summary, profile: np.ndarray, usual: np.ndarray, scatter: np.ndarray, limits: Limits
) -> Iterator[Finding]:
    far = np.abs(profile - usual).mean(axis=0)
    for column, name in enumerate(summary.names):
        if far[column] < 3.5 * scatter[column]:
            continue
        mine, theirs = profile[:, column], usual[:, column]
        for word, unit in _UNITS.items():
            size = np.abs(theirs).mean()
            apart = np.abs(mine / unit - theirs).mean()
            ratio = np.abs(mine).mean() / max(size, 1e-9)
            # what is many times too large is so whatever the episode; what is small may be so
            fits = unit > 1 or apart < min(3 * scatter[column], 0.5 * size)
            near = abs(math.log(max(ratio, 1e-12) / unit)) < 0.7
            if near and fits and size > 0.05 and far[column] > limits['gain'] * apart:
                yield summary.find(
                    Severity.ERROR,
                    f"joint '{name}' is in other units than in other episodes ({word})",
                    value=ratio,
                    threshold=1,
                    advice='convert at the driver; SI units everywhere',
                )


def _flipped(group: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find joints whose paths fit the others' only when mirrored, see ``_exchanged_pairs``."""
    paths = np.array([s.path for s in group])
    usual = np.median(paths, axis=0)
    scatter = np.median(np.abs(paths - usual).mean(axis=1), axis=0) + 0.02
    as_is = np.abs(paths - usual).mean(axis=1) / scatter
    mirrored = np.abs(paths + usual).mean(axis=1) / scatter
    ratio = np.where(
        (as_is > limits['far'] / 2) & (mirrored < limits['near']),
        as_is / np.maximum(mirrored, 1e-9),
        0.0,
    )
    for summary, ratios in zip(group, ratio, strict=True):
        k = int(np.argmax(ratios))
        if ratios[k] > limits['gain']:
            yield summary.find(
                Severity.ERROR,
                f"joint '{summary.names[k]}' is the opposite of what it is in other episodes",
                value=ratios[k],
                threshold=limits['gain'],
                advice='correct its sign; look for a driver that was reconfigured',
            )


def _exchanged_pairs(group: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find pairs of joints whose paths fit the others' only when exchanged, or do so at an end.

    Distances of paths are in units of how far that joint's path usually is from the usual one.
    """
    paths = np.array([s.path for s in group])
    quarter = paths.shape[1] // 4
    for part, gain in (
        (slice(None), limits['pair_gain']),
        (slice(quarter), limits['end_gain']),
        (slice(-quarter, None), limits['end_gain']),
    ):
        usual = np.median(paths[:, part], axis=0)
        scatter = np.median(np.abs(paths[:, part] - usual).mean(axis=1), axis=0) + 0.02
        unit = np.sqrt(scatter[:, None] * scatter[None, :])
        one, other = np.triu_indices(len(scatter), 1)
        for number, (summary, path) in enumerate(zip(group, paths[:, part], strict=True)):
            cost = np.abs(path[:, :, None] - usual[:, None, :]).mean(axis=0) / unit
            before = cost[one, one] + cost[other, other]
            after = cost[one, other] + cost[other, one]
            fits = (before > limits['far']) & (after < limits['near'])
            ratio = np.where(fits, before / np.maximum(after, 1e-9), 0.0)
            if not len(ratio):
                continue
            k = int(np.argmax(ratio))
            pair = [int(one[k]), int(other[k])]
            others = np.delete(paths[:, part][:, :, pair], number, axis=0)
            if ratio[k] > gain and _nearer(path[:, pair[::-1]], path[:, pair], others, limits):
                yield summary.find(
                    Severity.ERROR,
                    f'the joints {summary.names[one[k]]} and {summary.names[other[k]]} are '
                    'exchanged against other episodes',
                    value=ratio[k],
                    threshold=gain,
                    advice='match joints by name when converting',
                    span_ns=_part_of(summary, part, len(paths[0])),
                )


def _nearer(changed: Values, as_is: Values, others: Values, limits: Limits) -> bool:
    """Tell whether a path (p, k) that was changed is nearer to its like among others (n, p, k).

    The second nearest counts: the nearest may have the same fault. Where episodes are of several
    ways to do a task, one fits those that did it as it was done there, but not the usual one.
    """
    near = [np.abs(others - path).mean(axis=(1, 2)) for path in (changed, as_is)]
    first, second = (float(np.partition(distances, 1)[1]) for distances in near)
    return first * limits['like_gain'] < second


def _part_of(summary: Summary, part: slice, points: int) -> tuple[int, int]:
    first, last, _ = part.indices(points)
    span = summary.end_ns - summary.start_ns
    return (
        summary.start_ns + span * first // points,
        summary.start_ns + span * last // points,
    )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Joint names and orders: changed in mid-bag, missing, repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from curation.align.episode import Values
from curation.checks.finding import Finding, Severity
from curation.checks.motion import reach
from curation.checks.registry import episode_check, Limits
from curation.checks.view import Motion, View
from teleop_bridge.rig.schema import Role

_PARTS = 16  # of an episode, in which state and command are compared
_JOINTS = (Role.STATE, Role.ACTION, Role.HUMAN_PROPOSAL, Role.POLICY_PROPOSAL)


@episode_check('joint_names')
def names(view: View, limits: Limits) -> Iterator[Finding]:
    """Find names that change in mid-bag, and messages with unusable names."""
    for series in view.series(*_JOINTS):
        if series.joints is None:
            continue
        layouts = series.joints.layouts
        sets = {frozenset(names) for _, names in layouts}
        orders = {names for _, names in layouts}
        counts = Counter(names for _, names in layouts)
        partial = len(sets) > 1 and max(counts.values()) > 2  # publishers that take turns
        if len(orders) > 1 and not partial:
            at = series.stamps_ns[layouts[1][0]]
            renamed = len(sets) > 1
            what = "the joints' names change" if renamed else "the joints' order changes"
            yield view.find(
                Severity.ERROR if renamed else Severity.WARNING,
                series.stream.name,
                f'{what} after {layouts[1][0]} messages',
                value=len(orders),
                threshold=1,
                start_ns=at,
                end_ns=series.stamps_ns[-1],
                advice='a node was restarted with another configuration; names are matched, '
                'orders never',
            )
        for fault in series.faults[:1]:
            yield view.find(
                Severity.ERROR,
                series.stream.name,
                f'{len(series.faults)} messages: {fault.text}',
                value=len(series.faults),
                threshold=0,
                start_ns=fault.stamp_ns,
                end_ns=series.faults[-1].stamp_ns,
                advice='correct the publisher',
            )
        missing = [joint for joint in view.rig.joint_names if joint not in series.joints.names]
        alone = len(view.series(series.stream.role)) == 1
        if missing and alone and series.stream.required:
            yield view.find(
                Severity.ERROR,
                series.stream.name,
                f"joint '{missing[0]}' is in no message",
                value=len(missing),
                threshold=0,
                advice="correct the joint's name in the rig file, or start its driver",
            )


@episode_check('joint_reorder', gain=4.0, least=0.05, alone_gain=10.0, part_gain=2.0)
def reorder(view: View, limits: Limits) -> Iterator[Finding]:
    """Find a moment after which columns are exchanged: only a permutation makes the motion even.

    It must show in state and command at once, or part the one from the other.
    """
    for role, other_role in ((Role.STATE, Role.ACTION), (Role.ACTION, Role.STATE)):
        motion, other = view.motion(role), view.motion(other_role)
        if motion is None or len(motion) < 12:
            continue
        for exchange in _exchanges(motion, limits):
            if not _confirmed(motion, other, exchange, limits):
                continue
            joints = ', '.join(motion.names[k] for k in exchange.columns)
            yield view.find(
                Severity.ERROR,
                motion.stream,
                f'from here on the columns {joints} are exchanged',
                value=exchange.gain,
                threshold=limits['gain'],
                start_ns=motion.stamps_ns[exchange.at],
                end_ns=motion.stamps_ns[-1],
                advice='the order of the joints changed while recording: match them by name',
            )
            break
        else:
            yield from _parted(view, role, motion, other, limits)


def _parted(
    view: View, role: Role, motion: Motion, other: Motion | None, limits: Limits
) -> Iterator[Finding]:
    """Find columns of the state that follow each other's commands from some time on."""
    if role is not Role.STATE or other is None or set(other.names) != set(motion.names):
        return
    command = other.at(motion.stamps_ns)[:, [other.names.index(name) for name in motion.names]]
    known = np.flatnonzero(np.isfinite(command).all(axis=1))
    parts = [part for part in np.array_split(known, _PARTS) if len(part) >= 5]
    exchanged = [_follows(motion.positions[part], command[part], limits) for part in parts]
    for first in range(1, len(parts) - 1):
        before, after = exchanged[:first], exchanged[first:]
        if any(before) or not all(after) or len(set(after)) > 1:
            continue
        yield view.find(
            Severity.ERROR,
            motion.stream,
            'from here on the columns '
            f"{', '.join(motion.names[k] for k in after[0])} follow each other's commands",
            value=len(after) / len(parts),
            threshold=0,
            start_ns=motion.stamps_ns[parts[first][0]],
            end_ns=motion.stamps_ns[-1],
            advice='the order of the joints changed while recording: match them by name',
        )
        return


def _follows(measured: Values, command: Values, limits: Limits) -> tuple[int, ...]:
    """Return the columns that are nearer to each other's commands than to their own."""
    cost = np.abs(measured[:, :, None] - command[:, None, :]).mean(axis=0)
    rows, columns = linear_sum_assignment(cost)
    moved = [int(k) for k in rows if columns[k] != k and cost[k, k] > limits['least'] / 2]
    if len(moved) < 2:
        return ()
    before, after = cost[moved, moved].sum(), cost[moved, columns[moved]].sum()
    far = before / len(moved) > limits['least'] and before > limits['part_gain'] * max(after, 1e-9)
    return tuple(moved) if far else ()


@dataclass(frozen=True)
class _Exchange:
    """From sample ``at`` on, ``columns`` hold what ``sources`` held."""

    at: int
    columns: tuple[int, ...]
    sources: tuple[int, ...]
    gain: float


def _exchanges(motion: Motion, limits: Limits, *, even: bool = True) -> list[_Exchange]:
    """Return leaps that an exchange explains; with ``even`` what is left is an everyday step."""
    positions = motion.positions
    steps = np.abs(np.diff(positions, axis=0))
    usual = np.percentile(steps, 99, axis=0) + 1e-6
    busy = np.percentile(steps, 90, axis=0)
    ranges = np.maximum(reach(positions), 1e-3)
    # at least two joints leap at once
    leaps = np.flatnonzero(((steps > 2 * np.median(usual)) & (steps > 0.02)).sum(axis=1) >= 2)
    found = []
    for i in leaps[np.argsort(-steps[leaps].sum(axis=1))][:8].tolist():
        cost = np.abs(positions[i + 1][:, None] - positions[i][None, :])
        rows, sources = linear_sum_assignment(cost)
        moved = [k for k in rows if sources[k] != k and cost[k, k] > limits['least'] / 2]
        if len(moved) < 2:
            continue
        before, after = cost[moved, moved].sum(), cost[moved, sources[moved]].sum()
        gain = float(before / max(after, 1e-6 + 0.02 * float(np.median(ranges))))
        left = after / len(moved)
        everyday = not even or left < float(np.median(busy[list(moved)])) + 1e-4
        if gain > limits['gain'] and before / len(moved) > limits['least'] and everyday:
            found.append(_Exchange(i + 1, tuple(moved), tuple(sources[moved].tolist()), gain))
    return sorted(found, key=lambda exchange: -exchange.gain)


def _confirmed(motion: Motion, other: Motion | None, exchange: _Exchange, limits: Limits) -> bool:
    if other is None or other.names != motion.names:
        return exchange.gain > limits['alone_gain']
    time = motion.stamps_ns[exchange.at]
    columns, sources = list(exchange.columns), list(exchange.sources)
    for twin in _exchanges(other, limits, even=False):
        if abs(other.stamps_ns[twin.at] - time) < 3e9 * motion.period_s and (
            set(twin.columns) & set(columns)
        ):
            return True
    after = slice(exchange.at, exchange.at + 90)
    reference = other.at(motion.stamps_ns[after])
    there = np.isfinite(reference).all(axis=1)
    mine = motion.positions[after][there]
    apart = np.abs(mine[:, columns] - reference[there][:, columns]).mean()
    exchanged = np.abs(mine[:, columns] - reference[there][:, sources]).mean()
    return bool(exchanged < 0.4 * apart)

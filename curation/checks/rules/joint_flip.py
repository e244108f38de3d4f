# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Joints whose sign changes in mid-bag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from curation.checks.finding import Finding, Severity
from curation.checks.registry import episode_check, Limits
from curation.checks.view import Motion, View
from teleop_bridge.rig.schema import Role

_PARTS = 16  # of an episode, in which state and command are compared
_AFTER = 90  # samples beside a leap, in which they are
_LEAST_APART = 0.05  # rad or m; nearer to zero a joint is its own opposite
_CLEAR = 0.4  # of the distance as it is, below which the mirrored one says it


@dataclass(frozen=True)
class _Flip:
    """From sample ``at`` on, a joint holds the opposite."""

    at: int
    column: int
    gain: float


@episode_check('joint_flip', gain=4.0, least=0.1, alone_gain=10.0)
def flip(view: View, limits: Limits) -> Iterator[Finding]:
    """Find a moment after which a joint is the opposite: only mirrored does its motion go on.

    It must show in state and command at once, or part the one from the other.
    """
    for role, other_role in ((Role.STATE, Role.ACTION), (Role.ACTION, Role.STATE)):
        motion, other = view.motion(role), view.motion(other_role)
        if motion is None or len(motion) < 12:
            continue
        if other is not None and set(other.names) != set(motion.names):
            other = None
        leaps = _leaps(motion, limits)
        found = next((leap for leap in leaps if _confirmed(motion, other, leap, limits)), None)
        if found is None and role is Role.STATE and other is not None:
            found = _parted(motion, other, limits)
        if found is not None:
            yield view.find(
                Severity.ERROR,
                motion.stream,
                f"from here on joint '{motion.names[found.column]}' is the opposite of before",
                value=found.gain,
                threshold=limits['gain'],
                start_ns=motion.stamps_ns[found.at],
                end_ns=motion.stamps_ns[-1],
                advice='its driver was started anew with another sign: do not train across it',
            )


def _leaps(motion: Motion, limits: Limits) -> list[_Flip]:
    """Return leaps to the mirrored place, clearest first."""
    before, after = motion.positions[:-1], motion.positions[1:]
    steps, mirrored = np.abs(after - before), np.abs(after + before)
    busy, most = np.percentile(steps, [90, 99], axis=0) + 1e-4
    gains = steps / np.maximum(mirrored, busy / limits['gain'])
    everyday = mirrored < np.maximum(2 * busy, most)
    there = everyday & (steps > limits['least']) & (gains > limits['gain'])
    found = [_Flip(int(i) + 1, int(k), float(gains[i, k])) for i, k in np.argwhere(there)]
    return sorted(found, key=lambda leap: -leap.gain)


def _confirmed(motion: Motion, other: Motion | None, leap: _Flip, limits: Limits) -> bool:
    if other is None:
        return leap.gain > limits['alone_gain']
    name, time = motion.names[leap.column], motion.stamps_ns[leap.at]
    for twin in _leaps(other, limits):
        near = abs(other.stamps_ns[twin.at] - time) < 3e9 * motion.period_s
        if near and other.names[twin.column] == name:
            return True
    return _opposite(motion, other, leap.column, slice(leap.at, leap.at + _AFTER)) is True and (
        _opposite(motion, other, leap.column, slice(max(leap.at - _AFTER, 0), leap.at)) is False
    )


def _opposite(motion: Motion, other: Motion, column: int, rows: slice) -> bool | None:
    """Tell whether a joint is the opposite of the other stream's; None where it can't be told."""
    theirs = other.at(motion.stamps_ns[rows])[:, other.names.index(motion.names[column])]
    mine = motion.positions[rows, column]
    known = np.isfinite(theirs)
    if known.sum() < 3:
        return None
    as_is = float(np.abs(mine - theirs)[known].mean())
    mirrored = float(np.abs(mine + theirs)[known].mean())
    if max(as_is, mirrored) < _LEAST_APART:
        return None
    if mirrored < _CLEAR * as_is:
        return True
    return False if as_is < _CLEAR * mirrored else None


def _parted(motion: Motion, other: Motion, limits: Limits) -> _Flip | None:
    """Return from when on a joint follows the opposite of its command, where it leapt or not."""
    edges = np.linspace(0, len(motion), _PARTS + 1).astype(int)
    parts = [slice(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True)]
    for column in range(len(motion.names)):
        told = [(p.start, _opposite(motion, other, column, p)) for p in parts]
        known = [(start, opposite) for start, opposite in told if opposite is not None]
        flags = [opposite for _, opposite in known]
        count = sum(flags)
        if 2 <= count <= len(flags) - 2 and all(flags[-count:]):
            return _Flip(known[-count][0], column, limits['gain'])
    return None

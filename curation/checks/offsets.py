# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Offsets between streams without markers, by correlating what moved when.

A positive delay: the second stream's stamps show a motion later than the first one's do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from curation.align.episode import Values
from curation.checks.signal import Delay, delay, peak, uniform
from curation.checks.view import Motion, View

_MOST_COMMAND_S = 0.6
_MOST_CAMERA_S = 0.4
_LEAST_CORRELATION = 0.25
_SMOOTH_S = 0.05


@dataclass(frozen=True)
class JointDelays:
    """By how much each measured joint trails its command: (k,) each, s, NaN where unknown."""

    seconds: Values
    correlation: Values

    def combined(self) -> Delay | None:
        """Return the joints' median delay, weighted by correlation; None where none is clear."""
        clear = self.correlation >= _LEAST_CORRELATION
        if not clear.any():
            return None
        values, weights = self.seconds[clear], self.correlation[clear] ** 2
        middle = weighted_median(values, weights)
        doubt = 1.4826 * weighted_median(np.abs(values - middle), weights)
        share = weights.sum() ** 2 / (weights**2).sum()
        return Delay(middle, max(doubt / np.sqrt(share), 5e-4), float(self.correlation.max()))


def weighted_median(values: Values, weights: Values) -> float:
    """Return the value that halves the weights."""
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def joint_delays(
    view: View, start_ns: int | None = None, end_ns: int | None = None
) -> JointDelays:
    """Return each joint's delay to its executed command, from the correlation of velocities."""
    state, action = view.state, view.action
    count = len(state.names) if state is not None else 0
    seconds, correlation = np.full(count, np.nan), np.zeros(count)
    if state is None or action is None:
        return JointDelays(seconds, correlation)
    begin = max(state.stamps_ns[0], action.stamps_ns[0], start_ns or 0)
    end = min(state.stamps_ns[-1], action.stamps_ns[-1], end_ns or 2**62)
    step = max(min(state.period_s, action.period_s) / 2, 0.002)
    if end - begin < 3e9 * _MOST_COMMAND_S:
        return JointDelays(seconds, correlation)
    grid = np.arange(0, (end - begin) / 1e9, step)
    names = [name for name in state.names if name in action.names]
    command = _velocity(action, names, grid, int(begin), step)
    measured = _velocity(state, names, grid, int(begin), step)
    for column, name in enumerate(names):
        found = peak(command[:, [column]], measured[:, [column]], step, _MOST_COMMAND_S)
        if found is not None:
            k = state.names.index(name)
            seconds[k], correlation[k] = found
    return JointDelays(seconds, correlation)


def joint_delay_change(view: View) -> JointDelays:
    """Return how each joint's delay changes from the episode's first half to its second."""
    middle = (view.start_ns + view.end_ns) // 2
    before, after = joint_delays(view, end_ns=middle), joint_delays(view, start_ns=middle)
    correlation = np.minimum(before.correlation, after.correlation)
    return JointDelays(after.seconds - before.seconds, correlation)


def camera_delay(view: View, stream: str) -> Delay | None:
    """Return by how much a camera's images trail the measured joints; None if it can't be told.

    Correlates the change between images with the joints' speeds, each weighted by how much of the
    change it explains.
    """
    state, features = view.state, view.features.get(stream)
    if state is None or features is None or len(features) < 20:
        return None
    begin = max(state.stamps_ns[0], features.stamps_ns[0])
    end = min(state.stamps_ns[-1], features.stamps_ns[-1])
    if end - begin < 3e9 * _MOST_CAMERA_S:
        return None
    step = 0.005
    grid = np.arange(0, (end - begin) / 1e9, step)
    change = features.change[1:]
    # the root: a pixel changes by all of its contrast at once, so that little motion shows less
    change = np.sqrt(np.maximum(change - np.percentile(change, 5), 0))[:, None]
    # a difference of two images tells of the time between them
    middle = (features.stamps_ns[1:] + features.stamps_ns[:-1]) // 2
    seen = uniform(middle, change, grid, int(begin))
    window = max(int(round(np.median(np.diff(features.stamps_ns)) / 1e9 / step)), 1)
    speeds = np.abs(_velocity(state, state.names, grid, int(begin), step))
    speed = _explaining(_box(speeds, window), seen[:, 0], step)
    if speed is None:
        return None
    parts = int(np.clip(len(grid) * step / (4.2 * _MOST_CAMERA_S), 1, 6))
    found = delay(speed[:, None], seen, step, _MOST_CAMERA_S, parts=parts)
    return found if found is not None and found.correlation >= _LEAST_CORRELATION else None


def _explaining(speeds: Values, seen: Values, step: float) -> Values | None:
    """Return the non-negative sum of joint speeds (m, k) that explains an image's change best.

    Of all delays within reach, the one with the highest correlation. None where nothing moves.
    """
    reach = int(round(_MOST_CAMERA_S / step))
    target = seen[reach:-reach] - seen[reach:-reach].mean()
    moves = speeds.std(axis=0) > 1e-3
    if not moves.any() or target.std() < 1e-9:
        return None
    speeds = speeds[:, moves]
    best, weights = 0.0, None
    for shift in range(-reach, reach + 1, 2):
        rows = speeds[reach - shift : len(speeds) - reach - shift]
        rows = rows - rows.mean(axis=0)
        square = rows.T @ rows
        root = np.linalg.cholesky(square + 1e-6 * np.trace(square) * np.eye(len(square)))
        found, _ = nnls(root.T, np.linalg.solve(root, rows.T @ target))
        fit = rows @ found
        size = float(np.linalg.norm(fit) * np.linalg.norm(target))
        alike = float(fit @ target) / size if size else 0.0
        if alike > best:
            best, weights = alike, found
    return None if weights is None else np.asarray(speeds @ weights)


def _velocity(
    motion: Motion, names: list[str] | tuple[str, ...], grid: Values, begin: int, step: float
) -> Values:
    columns = [motion.names.index(name) for name in names]
    values = uniform(motion.stamps_ns, motion.positions[:, columns], grid, begin)
    values = _box(values, max(int(round(_SMOOTH_S / step)), 1))
    return np.asarray(np.gradient(values, step, axis=0))


def _box(values: Values, size: int) -> Values:
    """Return the centred moving mean over an odd number of samples."""
    size |= 1
    kernel = np.ones(size) / size
    padded = np.pad(values, ((size // 2, size // 2), (0, 0)), mode='edge')
    return np.stack([np.convolve(column, kernel, mode='valid') for column in padded.T], axis=1)

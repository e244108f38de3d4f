# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Offsets between streams without markers, by correlating what moved when.

A positive delay: the second stream's stamps show a motion later than the first one's do.
"""

from __future__ import annotations

import numpy as np

from curation.align.episode import Times, Values
from curation.checks.signal import Delay, delay, uniform
from curation.checks.view import Motion, View

_MOST_COMMAND_S = 0.4
_MOST_CAMERA_S = 0.4
_LEAST_CORRELATION = 0.25
_SMOOTH_S = 0.05


def command_delay(
    view: View, start_ns: int | None = None, end_ns: int | None = None
) -> Delay | None:
    """Return by how much the measured joints trail the executed command; None if it can't be told.

    Correlates velocities of the joints that both have.
    """
    state, action = view.state, view.action
    if state is None or action is None:
        return None
    names = [name for name in state.names if name in action.names]
    begin = max(state.stamps_ns[0], action.stamps_ns[0], start_ns or 0)
    end = min(state.stamps_ns[-1], action.stamps_ns[-1], end_ns or 2**62)
    step = max(min(state.period_s, action.period_s) / 2, 0.002)
    if end - begin < 3e9 * _MOST_COMMAND_S:
        return None
    grid = np.arange(0, (end - begin) / 1e9, step)
    velocities = [_velocity(motion, names, grid, int(begin), step) for motion in (action, state)]
    found = delay(velocities[0], velocities[1], step, _MOST_COMMAND_S)
    return found if found is not None and found.correlation >= _LEAST_CORRELATION else None


def command_delay_change(view: View) -> Delay | None:
    """Return how the command's delay changes from the first half to the second; None if unclear."""
    middle = (view.start_ns + view.end_ns) // 2
    before, after = command_delay(view, end_ns=middle), command_delay(view, start_ns=middle)
    if before is None or after is None:
        return None
    doubt = float(np.hypot(before.uncertainty_s, after.uncertainty_s))
    correlation = min(before.correlation, after.correlation)
    return Delay(after.seconds - before.seconds, doubt, correlation)


def camera_delay(view: View, stream: str) -> Delay | None:
    """Return by how much a camera's images trail the measured joints; None if it can't be told.

    Correlates the change between images with the arm's speed.
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
    change = np.minimum(change, np.percentile(change, 98))
    # a difference of two images tells of the time between them
    middle = (features.stamps_ns[1:] + features.stamps_ns[:-1]) // 2
    seen = uniform(middle, _smooth(change, features.stamps_ns), grid, int(begin))
    velocity = _velocity(state, state.names, grid, int(begin), step)
    scale = np.maximum(velocity.std(axis=0), 1e-9)
    speed = np.linalg.norm(velocity / scale, axis=1, keepdims=True)
    window = max(int(round(np.median(np.diff(features.stamps_ns)) / 1e9 / step)), 1)
    speed = _box(speed, window)  # an image difference sees the mean over its interval
    found = delay(speed, seen, step, _MOST_CAMERA_S)
    return found if found is not None and found.correlation >= _LEAST_CORRELATION else None


def _velocity(
    motion: Motion, names: list[str] | tuple[str, ...], grid: Values, begin: int, step: float
) -> Values:
    columns = [motion.names.index(name) for name in names]
    values = uniform(motion.stamps_ns, motion.positions[:, columns], grid, begin)
    values = _box(values, max(int(round(_SMOOTH_S / step)), 1))
    return np.asarray(np.gradient(values, step, axis=0))


def _smooth(change: Values, stamps: Times) -> Values:
    return np.convolve(change, [0.25, 0.5, 0.25], mode='same')[:, None]


def _box(values: Values, size: int) -> Values:
    """Return the centred moving mean over an odd number of samples."""
    size |= 1
    kernel = np.ones(size) / size
    padded = np.pad(values, ((size // 2, size // 2), (0, 0)), mode='edge')
    return np.stack([np.convolve(column, kernel, mode='valid') for column in padded.T], axis=1)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Measures of one motion: where it rests, trembles or sits at an end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import butter, sosfiltfilt

from curation.align.episode import Times, Values
from curation.checks.signal import Flags, spans, spread, uniform
from curation.checks.view import Motion

_WINDOW_S = 0.5
_STILL = 0.015  # of a joint's own range within the window
_MOVED = 0.08  # of a command's range: it moves
_OFF = 0.01  # of it, and rad or m, beyond which it is elsewhere than the joint
_LEAST_OFF = 0.01
_LEAST_RANGE = 0.02
_LEAST_STEP = 0.03  # rad or m that a command must go for a stand to be wrong
_LEAST_MOTION = 0.05  # a joint that moves less in all its episode says little about rest
_TREMOR_HZ = (4.0, 12.0)
_LEAST_CLIPPED = 5  # samples at an extreme
_LEAST_GOING = 1e-6  # rad or m from sample to sample: it moves
_AT_SPEED = 0.5  # of a joint's brisk steps, its 75th percentile
_LEAST_BEYOND = 0.01  # rad or m that a command is beyond one
Span = tuple[int, int]  # ns


def reach(positions: Values) -> Values:
    """Return each joint's range from its 1st to its 99th percentile (k,)."""
    low, high = np.percentile(positions, [1, 99], axis=0)
    return np.asarray(high - low)


def still(motion: Motion) -> Flags:
    """Return (n,) whether no joint moves notably within half a second around."""
    half = max(int(round(_WINDOW_S / 2 / max(motion.period_s, 1e-9))), 1)
    ranges = np.maximum(reach(motion.positions), _LEAST_MOTION)
    count = len(motion)
    padded = np.pad(motion.positions, ((half, half), (0, 0)), mode='edge')
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1, axis=0)[:count]
    excursion = windows.max(axis=-1) - windows.min(axis=-1)
    return np.asarray((excursion < _STILL * ranges).all(axis=1))


def idle_parts(motion: Motion) -> tuple[Span, Span, Span]:
    """Return when nothing moves: at the start, the longest time in the middle, at the end, ns."""
    stamps = motion.stamps_ns
    first, last = int(stamps[0]), int(stamps[-1])
    parts = [(first, first), (first, first), (last, last)]
    flags = still(motion)
    for start, end in spans(flags):
        found = int(stamps[start]), int(stamps[min(end, len(stamps) - 1)])
        where = 0 if start == 0 else 2 if end == len(flags) else 1
        parts[where] = max(parts[where], found, key=lambda span: span[1] - span[0])
    return parts[0], parts[1], parts[2]


def tremor(motion: Motion) -> Values:
    """Return each joint's rms motion between 4 and 12 Hz (k,); NaN where it can't be told."""
    nothing = np.full(len(motion.names), np.nan)
    if motion.period_s <= 0:
        return nothing
    rate = 1 / motion.period_s
    high = min(_TREMOR_HZ[1], 0.45 * rate)
    seconds = float(motion.stamps_ns[-1] - motion.stamps_ns[0]) / 1e9
    if high <= _TREMOR_HZ[0] * 1.2 or seconds < 1.5:
        return nothing
    grid = np.arange(0, seconds, 1 / rate)
    values = uniform(motion.stamps_ns, motion.positions, grid, int(motion.stamps_ns[0]))
    band = butter(2, [_TREMOR_HZ[0], high], 'bandpass', fs=rate, output='sos')
    shaking = sosfiltfilt(band, values, axis=0)
    # the median over parts: a single quick grasp is no tremor
    parts = np.array_split(shaking, max(int(seconds), 2))
    return np.asarray(np.median([part.std(axis=0) for part in parts], axis=0))


def ends(positions: Values) -> Values:
    """Return each joint's lowest and highest value (2, k)."""
    return np.stack([positions.min(axis=0), positions.max(axis=0)])


def at_ends(positions: Values) -> Values:
    """Return the share of samples exactly at each joint's lowest and highest value (2, k)."""
    return np.asarray((positions[None] == ends(positions)[:, None]).mean(axis=1))


def cut_off(positions: Values) -> Values:
    """Return the share of samples exactly at either end that is come to and left at speed (2, k).

    A hand slows down before it stops; a clipped signal does not.
    """
    shares = np.zeros((2, positions.shape[1]))
    for column, values in enumerate(positions.T):
        steps = np.abs(np.diff(values))
        going = steps[steps > _LEAST_GOING]
        if len(going) < _LEAST_CLIPPED or np.ptp(values) < _LEAST_RANGE:
            continue
        fast = _AT_SPEED * float(np.percentile(going, 75))
        for side, extreme in enumerate((values.min(), values.max())):
            held = 0
            for start, end in spans(values == extreme):
                beside = [steps[max(start - 3, 0) : start], steps[end - 1 : end + 2]]
                known = [float(part.max()) for part in beside if len(part)]
                if end - start >= 3 and known and min(known) > fast:
                    held += end - start
            shares[side, column] = held / len(values)
    return shares


@dataclass(frozen=True)
class Held:
    """Per joint (k,), or end and joint (2, k), a size, and the span (…, 2), ns, in which it is."""

    size: Values
    span_ns: Times


def stuck(state: Motion, action: Motion | None) -> Held:
    """Return for how long, at most, each joint stands exactly still while it is commanded away, s.

    Only the time counts in which the command is off where it stands by more than it usually is,
    and only where it moves notably.
    """
    held = _nothing(state)
    if action is None:
        return held
    commands = action.at(state.stamps_ns)
    for column, name in enumerate(state.names):
        if name not in action.names:
            continue
        command = commands[:, action.names.index(name)]
        known = np.isfinite(command)
        if not known.any():
            continue
        ahead = command - state.positions[:, column]
        ranges = max(float(np.ptp(command[known])), _LEAST_RANGE)
        off = np.abs(ahead - np.median(ahead[known])) > max(_OFF * ranges, _LEAST_OFF)
        for start, end in spans(np.diff(state.positions[:, column]) == 0):
            at = start + np.flatnonzero(off[start : end + 1])
            seconds = len(at) * state.period_s
            if seconds <= held.size[column]:
                continue
            if np.ptp(command[at]) > max(_MOVED * ranges, _LEAST_STEP):
                held.size[column], held.span_ns[column] = seconds, state.stamps_ns[at[[0, -1]]]
    return held


def clipped(state: Motion, action: Motion | None) -> Held:
    """Return the share of samples in which each joint stays at an end, commanded beyond (2, k).

    Exactly at its lowest or highest of the episode, while the command is farther on, against the
    joint, than it usually is. A finger that closes on an object does so too.
    """
    held = _nothing(state, 2)
    if action is None:
        return held
    commands = action.at(state.stamps_ns)
    for column, name in enumerate(state.names):
        if name not in action.names or np.ptp(state.positions[:, column]) < _LEAST_RANGE:
            continue
        for side, sign in enumerate((-1, 1)):
            measured = sign * state.positions[:, column]
            ahead = sign * commands[:, action.names.index(name)] - measured
            known = np.isfinite(ahead)
            at = known & (measured == measured.max())
            rest = ahead[known & ~at]
            if at.sum() < _LEAST_CLIPPED or len(rest) < _LEAST_CLIPPED:
                continue
            beyond = at & (ahead - np.median(rest) > 3 * spread(rest) + _LEAST_BEYOND)
            if beyond.any():
                where = np.flatnonzero(beyond)
                held.size[side, column] = beyond.mean()
                held.span_ns[side, column] = state.stamps_ns[where[[0, -1]]]
    return held


def _nothing(state: Motion, *sides: int) -> Held:
    shape = (*sides, len(state.names))
    return Held(np.zeros(shape), np.tile(state.stamps_ns[[0, -1]], (*shape, 1)))

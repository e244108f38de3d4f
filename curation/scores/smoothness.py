# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How smoothly joints moved: published measures, and one made to rank episodes fairly.

Everything is computed at a fixed rate after a stated low-pass. The ranking measure looks at one
movement after another (between gripper events and pauses), so that neither an episode's length
nor how often it pauses moves it.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, sosfiltfilt

Values = NDArray[np.float64]

RATE_HZ = 60.0          # every measure is computed at this rate,
CUTOFF_HZ = 6.0         # after a zero-phase Butterworth low-pass of this cutoff and
ORDER = 4               # order: voluntary movement lies below it, encoder noise above
STILL_RAD_S = 0.03      # slower than this all joints rest
PAUSE_S = 0.3           # a rest as long as this separates movements, a shorter one is hesitation
SHORTEST_S = 0.3        # movements shorter than this tell nothing
SPARC_MAX_HZ = 10.0     # Balasubramanian et al. 2015, the values recommended there
SPARC_THRESHOLD = 0.05
SPARC_PADDING = 4


@dataclass(frozen=True)
class Smoothness:
    """An episode's measures; ``ranking`` alone is comparable between episodes.

    ``ranking`` is the mean ``jerk_ratio`` of its movements, weighted by their duration: negative,
    higher is smoother. ``sparc``, ``log_dimensionless_jerk`` and ``integrated_squared_jerk``
    (rad^2/s^5) are of the whole episode, and mostly tell how long it was and how many reaches it
    had. All NaN where nothing moved.
    """

    ranking: float
    sparc: float
    log_dimensionless_jerk: float
    integrated_squared_jerk: float
    movements: int


def sparc(speed: Values, rate_hz: float) -> float:
    """Return the spectral arc length of a speed profile of shape (m,).

    S. Balasubramanian, A. Melendez-Calderon, A. Roby-Brami, E. Burdet: On the analysis of movement
    smoothness, J NeuroEng Rehabil 12:112, 2015, eq. 6 to 8.
    """
    padded = 2 ** (math.ceil(math.log2(len(speed))) + SPARC_PADDING)
    frequency = np.arange(padded // 2) * rate_hz / padded
    spectrum = np.abs(np.fft.rfft(speed, padded))[: padded // 2]
    if spectrum[0] == 0.0:
        return math.nan
    spectrum = spectrum / spectrum[0]
    inside = np.flatnonzero((frequency <= SPARC_MAX_HZ) & (spectrum >= SPARC_THRESHOLD))
    span = slice(0, int(inside[-1]) + 1)
    cutoff = frequency[inside[-1]]
    if cutoff == 0.0:
        return math.nan
    steps = np.diff(frequency[span]) / cutoff, np.diff(spectrum[span])
    return -float(np.sum(np.hypot(*steps)))


def integrated_squared_jerk(positions: Values, rate_hz: float) -> float:
    """Return the integral of squared jerk over all joints, for positions of shape (m, n).

    T. Flash, N. Hogan: The coordination of arm movements, J Neurosci 5:1688-1703, 1985, eq. 1.
    """
    jerk = np.diff(positions, 3, axis=0) * rate_hz**3
    return float(np.sum(jerk**2) / rate_hz)


def log_dimensionless_jerk(positions: Values, rate_hz: float) -> float:
    """Return minus the logarithm of jerk made dimensionless by duration and peak speed.

    N. Hogan, D. Sternad: Sensitivity of smoothness measures to movement duration, amplitude and
    arrests, J Mot Behav 41:529-534, 2009; sign and logarithm as in Balasubramanian et al. 2015.
    """
    speed = np.linalg.norm(np.diff(positions, axis=0), axis=1) * rate_hz
    duration = (len(positions) - 1) / rate_hz
    scale = duration**3 / float(np.max(speed)) ** 2
    return -math.log(scale * integrated_squared_jerk(positions, rate_hz))


def jerk_ratio(positions: Values, rate_hz: float) -> float:
    """Return minus the logarithm of mean squared jerk over mean squared speed, times (1 s)^4.

    Hogan and Sternad's (2009) dimensionless jerk with a fixed time in place of the duration. It is
    the fourth power of the frequency that the movement is made of, so neither amplitude nor length
    nor the number of reaches moves it: small corrections do. A hand that is k times faster along
    the same path ranks lower by 4 ln k; duration is the axis beside it.
    """
    velocity = np.gradient(positions, 1.0 / rate_hz, axis=0)
    jerk = np.gradient(np.gradient(velocity, 1.0 / rate_hz, axis=0), 1.0 / rate_hz, axis=0)
    moved = float(np.mean(velocity**2))
    changed = float(np.mean(jerk**2))
    return -math.log(changed / moved) if moved > 0.0 and changed > 0.0 else math.nan


def smoothness(
    times_s: Values, positions: Values, *, events_s: Values | None = None
) -> Smoothness:
    """Measure joints of shape (m, n) at increasing times of shape (m,), in seconds from any zero.

    ``events_s`` are times that separate movements, such as those of the gripper.
    """
    nothing = Smoothness(math.nan, math.nan, math.nan, math.nan, 0)
    grid = np.arange(times_s[0], times_s[-1], 1.0 / RATE_HZ) if len(times_s) else times_s
    if len(grid) < 4 * RATE_HZ * SHORTEST_S:
        return nothing
    even = np.stack([np.interp(grid, times_s, column) for column in positions.T], axis=1)
    smoothed = sosfiltfilt(butter(ORDER, CUTOFF_HZ, fs=RATE_HZ, output='sos'), even, axis=0)
    speed = np.linalg.norm(np.gradient(smoothed, 1.0 / RATE_HZ, axis=0), axis=1)
    spans = movements(speed, grid, events_s if events_s is not None else np.empty(0))
    measured = [(jerk_ratio(smoothed[span], RATE_HZ), span.stop - span.start) for span in spans]
    told = [(value, weight) for value, weight in measured if math.isfinite(value)]
    if not told:
        return nothing
    values, weights = zip(*told, strict=True)
    return Smoothness(
        ranking=float(np.average(values, weights=weights)),
        sparc=sparc(speed, RATE_HZ),
        log_dimensionless_jerk=log_dimensionless_jerk(smoothed, RATE_HZ),
        integrated_squared_jerk=integrated_squared_jerk(smoothed, RATE_HZ),
        movements=len(told),
    )


def movements(speed: Values, times_s: Values, events_s: Values) -> list[slice]:
    """Return the spans of movement in a speed profile (m,): between pauses and events."""
    moving = speed > STILL_RAD_S
    _close_short_gaps(moving, round(PAUSE_S * RATE_HZ))
    cut = np.zeros(len(speed), np.bool_)
    cut[np.searchsorted(times_s, events_s[events_s < times_s[-1]])] = True
    spans: list[slice] = []
    start: int | None = None
    for index in range(len(speed) + 1):
        ends = index == len(speed) or not moving[index] or bool(cut[index])
        if start is not None and ends:
            if index - start >= SHORTEST_S * RATE_HZ:
                spans.append(slice(start, index))
            start = None
        if start is None and index < len(speed) and moving[index]:
            start = index
    return spans


def _close_short_gaps(moving: NDArray[np.bool_], shortest: int) -> None:
    """Count rests shorter than ``shortest`` samples as movement, in place."""
    edges = np.flatnonzero(np.diff(moving.astype(np.int8)))
    for left, right in zip(edges[:-1], edges[1:], strict=True):
        if not moving[left + 1] and right - left < shortest:
            moving[left + 1 : right + 1] = True

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Header stamps that can't be right: zero, standing, backwards, of another clock, drifting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from curation.checks.finding import Finding, Severity
from curation.checks.registry import episode_check, Limits
from curation.checks.rules.timing import periodic
from curation.checks.view import View
from teleop_bridge.rig.schema import Stamp


@episode_check('zero_stamps')
def zero(view: View, limits: Limits) -> Iterator[Finding]:
    """Find headers that nobody stamped."""
    for series in view.series():
        bad = series.header_ns == 0
        if bad.any():
            used = series.stream.stamp is Stamp.HEADER
            yield view.find(
                Severity.ERROR if used else Severity.NOTE,
                series.stream.name,
                f'{int(bad.sum())} of {len(bad)} header stamps are zero',
                value=bad.sum(),
                threshold=0,
                start_ns=series.log_ns[bad][0],
                end_ns=series.log_ns[bad][-1],
                advice="stamp in the driver, or declare the stream's stamp as receive",
            )


@episode_check('stamp_order', repeats=2)
def order(view: View, limits: Limits) -> Iterator[Finding]:
    """Find stamps that run backwards or stand still from message to message as received."""
    for series, _, _ in periodic(view):
        steps = np.diff(series.stamps_ns)
        back = np.flatnonzero(steps < 0)
        if len(back):
            at = int(back[0])
            yield view.find(
                Severity.ERROR,
                series.stream.name,
                f'{len(back)} stamps are earlier than the one before, by up to '
                f'{-steps[back].min() / 1e6:.1f} ms',
                value=len(back),
                threshold=0,
                start_ns=series.stamps_ns[at + 1],
                end_ns=series.stamps_ns[at],
                advice='two publishers, a clock that was set, or a transport that reorders',
            )
        stands = np.flatnonzero(steps == 0)
        if len(stands) >= limits['repeats']:
            yield view.find(
                Severity.ERROR,
                series.stream.name,
                f'{len(stands)} messages have the stamp of the one before',
                value=len(stands),
                threshold=limits['repeats'],
                start_ns=series.stamps_ns[stands[0]],
                end_ns=series.stamps_ns[stands[-1]],
                advice='the driver does not stamp the capture, or messages are doubled',
            )


@episode_check('other_clock', seconds=1.0, ahead_ms=5)
def clock(view: View, limits: Limits) -> Iterator[Finding]:
    """Find header stamps that are not on the clock of the receive times."""
    for series, _, _ in periodic(view):
        if (series.header_ns <= 0).any():
            continue
        late = series.log_ns - series.header_ns
        usual = float(np.median(late))
        if abs(usual) > limits['seconds'] * 1e9:
            yield view.find(
                Severity.ERROR,
                series.stream.name,
                f'header stamps are {-usual / 1e9:+.3f} s from the receive times: another '
                'clock or epoch',
                value=usual / 1e9,
                threshold=limits['seconds'],
                advice="let the driver stamp on the rig's clock, or declare its stamp as receive",
            )
        elif usual < -limits['ahead_ms'] * 1e6:
            yield view.find(
                Severity.WARNING,
                series.stream.name,
                f'is stamped {-usual / 1e6:.1f} ms after it was received',
                value=-usual / 1e6,
                threshold=limits['ahead_ms'],
                advice='synchronise the clocks of the machines',
            )


@episode_check('clock_drift', ppm=300, least_ms=8)
def drift(view: View, limits: Limits) -> Iterator[Finding]:
    """Find header clocks that run faster or slower than the receive clock.

    Fits the least delays, which queues do not lengthen, in ten parts of the episode.
    """
    for series, _, _ in periodic(view):
        if (series.header_ns <= 0).any() or len(series) < 60:
            continue
        delay = (series.log_ns - series.header_ns).astype(float)
        parts = np.array_split(np.arange(len(delay)), 10)
        least = np.array([delay[part].min() for part in parts])
        when = np.array([series.log_ns[part].mean() for part in parts])
        slope, offset = np.polyfit(when - when[0], least - least[0], 1)
        total = abs(slope) * (when[-1] - when[0])
        rest = np.abs(least - least[0] - slope * (when - when[0]) - offset).max()
        if abs(slope) * 1e6 > limits['ppm'] and total > max(limits['least_ms'] * 1e6, 3 * rest):
            yield view.find(
                Severity.WARNING,
                series.stream.name,
                f'its clock drifts by {-slope * 1e6:+.0f} ppm, {total / 1e6:.1f} ms in all',
                value=abs(slope) * 1e6,
                threshold=limits['ppm'],
                advice="synchronise the device's clock (PTP, chrony) or stamp on the host",
            )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Rate, gaps and jitter of each stream by its own stamps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from curation.align.episode import Times
from curation.align.series import Series
from curation.checks.finding import Finding, Severity
from curation.checks.registry import episode_check, Limits
from curation.checks.signal import spread
from curation.checks.view import View
from teleop_bridge.rig.schema import Role

_EVENTS = (Role.CAMERA_INFO, Role.INTERVENTION, Role.EPISODE)


def periodic(view: View) -> Iterator[tuple[Series, Times, Times]]:
    """Yield streams that come regularly, with their stamps in order and the steps between them.

    Several publishers on one topic interleave, so steps are per set of names there.
    """
    for series in view.series():
        if series.stream.latched or series.stream.role in _EVENTS or len(series) < 8:
            continue
        stamps = np.sort(series.stamps_ns)
        yield series, stamps, np.diff(stamps)


@episode_check('rate', part=0.1)
def rate(view: View, limits: Limits) -> Iterator[Finding]:
    """Find streams whose usual rate is not the declared one."""
    for series, _, steps in periodic(view):
        expected = series.stream.rate_hz
        usual = float(np.median(steps))
        if not expected or usual <= 0:
            continue
        # the mean of ordinary steps: a 30 Hz camera on a 10 ms grid steps by 30, 30 and 40 ms
        found = 1e9 / float(steps[(steps > 0.5 * usual) & (steps < 1.6 * usual)].mean())
        off = abs(found / expected - 1)
        if off > limits['part']:
            yield view.find(
                Severity.WARNING,
                series.stream.name,
                f'usually comes at {found:.1f} Hz, {expected:g} Hz is declared',
                value=found,
                threshold=expected * (1 - limits['part']),
                advice='look for load or exposure that slows it, or declare the rate it has',
            )


@episode_check('gap', periods=2.5, least_ms=15)
def gap(view: View, limits: Limits) -> Iterator[Finding]:
    """Find times without a message that are much longer than usual."""
    for series, stamps, steps in periodic(view):
        usual = float(np.median(steps))
        expected = 1e9 / series.stream.rate_hz if series.stream.rate_hz else usual
        limit = max(limits['periods'] * max(usual, expected), limits['least_ms'] * 1e6)
        wide = np.flatnonzero(steps > limit)
        if not len(wide):
            continue
        worst = int(wide[np.argmax(steps[wide])])
        age = series.stream.max_age_ns
        stale = age is not None and steps[worst] > age
        severity = Severity.ERROR if stale and series.stream.required else Severity.WARNING
        yield view.find(
            severity,
            series.stream.name,
            f'{len(wide)} gaps, the longest {steps[worst] / 1e6:.0f} ms (usual step '
            f'{usual / 1e6:.1f} ms)',
            value=steps[worst] / 1e6,
            threshold=limit / 1e6,
            start_ns=stamps[worst],
            end_ns=stamps[worst + 1],
            advice='look for lost messages (QoS, network, USB) or a stalled driver',
        )


@episode_check('jitter', part=0.3, lost_part=0.02)
def jitter(view: View, limits: Limits) -> Iterator[Finding]:
    """Find streams whose steps scatter, or that lose single messages often."""
    for series, stamps, steps in periodic(view):
        usual = float(np.median(steps))
        if usual <= 0:
            continue
        # of the steps below a lost message; the scatter of one that was late is in two steps
        scatter = spread(steps[steps < 1.6 * usual].astype(float)) / usual
        if scatter > limits['part']:
            yield view.find(
                Severity.WARNING,
                series.stream.name,
                f'steps scatter by {scatter:.0%} of the usual {usual / 1e6:.1f} ms',
                value=scatter,
                threshold=limits['part'],
                advice='stamp at the source, or look for load on the machine that stamps',
            )
        lost = float(np.maximum(np.round(steps / usual) - 1, 0).sum()) / len(stamps)
        if lost > limits['lost_part']:
            yield view.find(
                Severity.WARNING,
                series.stream.name,
                f'{lost:.1%} of its messages are missing',
                value=lost,
                threshold=limits['lost_part'],
                advice='look for lost messages: QoS depth, network, USB bandwidth',
            )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Events worth a look: emergency stops, holds, force peaks, limiter saturation, invalid IK."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from curation.checks.finding import Finding, Severity
from curation.checks.registry import episode_check, Limits
from curation.checks.signal import longest, spans
from curation.checks.view import View
from teleop_bridge.rig.schema import Role
from teleop_bridge.vocabulary import Phase


@episode_check('emergency_stop', hold_s=0.3)
def stops(view: View, limits: Limits) -> Iterator[Finding]:
    """Find emergency stops, and times when the follower held because no source was usable."""
    for series in view.series(Role.AUTHORITY):
        if series.table is None:
            continue
        phase = series.table.values[:, series.table.names.index('phase')]
        for start, end in spans(phase == Phase.ESTOP)[:3]:
            yield view.find(
                Severity.WARNING,
                series.stream.name,
                'emergency stop',
                value=end - start,
                threshold=0,
                start_ns=series.stamps_ns[start],
                end_ns=series.stamps_ns[end - 1],
                advice='look at what led to it before this episode is used',
            )
        start, end = longest(phase == Phase.HOLD)
        if end > start:
            seconds = (series.stamps_ns[end - 1] - series.stamps_ns[start]) / 1e9
            if seconds > limits['hold_s']:
                yield view.find(
                    Severity.WARNING,
                    series.stream.name,
                    f'the follower held for {seconds:.2f} s: no usable source',
                    value=seconds,
                    threshold=limits['hold_s'],
                    start_ns=series.stamps_ns[start],
                    end_ns=series.stamps_ns[end - 1],
                    advice="look at the leader's connection",
                )


@episode_check('force_peak', newton=40.0, gain=8.0)
def forces(view: View, limits: Limits) -> Iterator[Finding]:
    """Find force peaks, absolute and against the episode's usual forces."""
    for series in view.series(Role.WRENCH):
        if series.table is None:
            continue
        force = np.linalg.norm(series.table.values[:, :3], axis=1)
        peak = int(np.nanargmax(force)) if np.isfinite(force).any() else 0
        usual = float(np.nanpercentile(force, 90))
        if force[peak] > limits['newton'] and force[peak] > limits['gain'] * max(usual, 1.0):
            yield view.find(
                Severity.WARNING,
                series.stream.name,
                f'a force peak of {force[peak]:.0f} N (usually below {usual:.0f} N)',
                value=force[peak],
                threshold=limits['newton'],
                start_ns=series.stamps_ns[peak],
                end_ns=series.stamps_ns[peak],
                advice='look for a collision',
            )


@episode_check('limiter', radians=0.15, seconds=0.5)
def limiter(view: View, limits: Limits) -> Iterator[Finding]:
    """Find times when the executed command could not keep up with what the human asked for."""
    action, human = view.action, view.motion(Role.HUMAN_PROPOSAL)
    authority = [s for s in view.series(Role.AUTHORITY) if s.table is not None]
    if action is None or human is None or not authority or action.names != human.names:
        return
    table = authority[0].table
    assert table is not None
    order = np.searchsorted(authority[0].stamps_ns, action.stamps_ns, side='right') - 1
    weight = table.values[np.maximum(order, 0), table.names.index('weight')]
    apart = np.abs(action.positions - human.at(action.stamps_ns)).max(axis=1)
    start, end = longest((apart > limits['radians']) & (weight > 0.99) & (order >= 0))
    if end > start:
        seconds = (action.stamps_ns[end - 1] - action.stamps_ns[start]) / 1e9
        if seconds > limits['seconds']:
            yield view.find(
                Severity.NOTE,
                action.stream,
                f'the limits held the command back from the human for {seconds:.2f} s',
                value=seconds,
                threshold=limits['seconds'],
                start_ns=action.stamps_ns[start],
                end_ns=action.stamps_ns[end - 1],
                advice='move slower, or look at the limits in the rig file',
            )


@episode_check('ik_invalid', part=0.01)
def kinematics(view: View, limits: Limits) -> Iterator[Finding]:
    """Find times when a Cartesian command had no valid joint solution."""
    for series in view.series(Role.IK_VALIDITY):
        if series.table is None:
            continue
        invalid = series.table.values[:, 0] < 0.5
        if invalid.mean() > limits['part']:
            start, end = longest(invalid)
            yield view.find(
                Severity.WARNING,
                series.stream.name,
                f'{invalid.mean():.1%} of the Cartesian commands had no valid solution',
                value=invalid.mean(),
                threshold=limits['part'],
                start_ns=series.stamps_ns[start],
                end_ns=series.stamps_ns[end - 1],
                advice='keep the hand within reach and away from singular poses',
            )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How far the measured joints trail the command, its change, and what other episodes have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from curation.align.episode import Values
from curation.checks.among import same_joints
from curation.checks.finding import Finding, Severity
from curation.checks.offsets import joint_delay_change, joint_delays, JointDelays, weighted_median
from curation.checks.registry import collection_check, episode_check, Limits
from curation.checks.signal import spread
from curation.checks.summary import Summary
from curation.checks.view import View

_CLEAR = 0.4  # correlation of a joint whose delay counts
_LEAST_EPISODES = 8


@episode_check('lag', most_ms=400)
def lag(view: View, limits: Limits) -> Iterator[Finding]:
    """State by how much the state trails the command; find one that is very long."""
    found = joint_delays(view).combined()
    if found is None or view.state is None:
        return
    long = found.seconds * 1e3 > limits['most_ms']
    yield view.find(
        Severity.WARNING if long else Severity.NOTE,
        view.state.stream,
        f'trails the command by {found.seconds * 1e3:.1f} ms (± {found.uncertainty_s * 1e3:.1f})',
        value=found.seconds * 1e3,
        threshold=limits['most_ms'],
        advice='look for a slow controller or a shifted stamp' if long else '',
    )


@episode_check('lag_change', alone_ms=60, alone_sigmas=12)
def change_alone(view: View, limits: Limits) -> Iterator[Finding]:
    """Find a lag that changes in mid-episode, clearly in most joints."""
    delays = joint_delay_change(view)
    clear = delays.correlation > 0.8
    found = JointDelays(delays.seconds[clear], delays.correlation[clear]).combined()
    if found is None or clear.sum() < 2 or view.state is None:
        return
    limit = max(limits['alone_ms'] / 1e3, limits['alone_sigmas'] * found.uncertainty_s)
    if abs(found.seconds) > limit:
        yield view.find(
            Severity.WARNING,
            view.state.stream,
            f'its lag to the command changes by {found.seconds * 1e3:+.1f} ms in mid-episode',
            value=abs(found.seconds) * 1e3,
            threshold=limit * 1e3,
            advice='look for a stamp or a queue that changed; do not train across the change',
        )


@collection_check('lag_change', least_ms=25, sigmas=5.5)
def change(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find episodes in which the lag changes on the way, more than it does in others."""
    for summary, value, limit in _outliers(summaries, lambda s: s.lag_change, limits):
        yield summary.find(
            Severity.WARNING,
            f'its lag to the command changes by {value * 1e3:+.1f} ms in mid-episode',
            value=abs(value) * 1e3,
            threshold=limit * 1e3,
            advice='look for a stamp or a queue that changed; do not train across the change',
        )


@collection_check('lag_shift', least_ms=12, sigmas=5.5)
def shift(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find episodes whose lag differs from the others'."""
    for summary, value, limit in _outliers(summaries, lambda s: s.lags, limits):
        yield summary.find(
            Severity.WARNING,
            f'trails the command by {value * 1e3:+.1f} ms more than other episodes do',
            value=abs(value) * 1e3,
            threshold=limit * 1e3,
            advice="a stream's stamps are shifted: find the stream, declare the correction",
        )


def _outliers(
    summaries: Sequence[Summary], of: Callable[[Summary], JointDelays], limits: Limits
) -> Iterator[tuple[Summary, float, float]]:
    """Yield (episode, its delay against the usual one, the limit that it exceeds), s.

    Joints have delays of their own, so each is compared with itself, weighted by how steady it is.
    """
    for group in same_joints(summaries):
        if len(group) < _LEAST_EPISODES:
            continue
        delays = np.array([of(s).seconds for s in group])
        delays[np.array([of(s).correlation for s in group]) < _CLEAR] = np.nan
        told = np.isfinite(delays).sum(axis=0) >= max(len(group) // 3, 4)
        if not told.any():
            continue
        delays = delays[:, told]
        usual = np.nanmedian(delays, axis=0)
        scatter = 1.4826 * np.nanmedian(np.abs(delays - usual), axis=0) + 1e-3
        values, doubts = np.array([_combine(row - usual, scatter) for row in delays]).T
        known = np.isfinite(values)
        if known.sum() < _LEAST_EPISODES:
            continue
        limit = max(limits['least_ms'] / 1e3, limits['sigmas'] * spread(values[known]))
        for summary, value, doubt in zip(group, values.tolist(), doubts, strict=True):
            if np.isfinite(value) and abs(value) > max(limit, doubt):
                yield summary, value, limit


def _combine(apart: Values, scatter: Values) -> tuple[float, float]:
    """Return what the joints agree on, and how far they are apart; NaN where none is known."""
    known = np.isfinite(apart)
    if not known.any():
        return float('nan'), float('nan')
    weights = 1 / scatter[known] ** 2
    middle = weighted_median(apart[known], weights)
    return middle, 1.4826 * weighted_median(np.abs(apart[known] - middle), weights)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How far the measured joints trail the command, its change, and what other sessions have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.checks.finding import Finding, Severity
from curation.checks.offsets import command_delay
from curation.checks.registry import collection_check, episode_check, Limits
from curation.checks.signal import spread
from curation.checks.summary import Summary
from curation.checks.view import View


@episode_check('lag', most_ms=350)
def lag(view: View, limits: Limits) -> Iterator[Finding]:
    """State by how much the state trails the command; find one that is very long."""
    state = view.state
    whole = command_delay(view)
    if whole is None or state is None:
        return
    yield view.find(
        Severity.WARNING if whole.seconds * 1e3 > limits['most_ms'] else Severity.NOTE,
        state.stream,
        f'trails the command by {whole.seconds * 1e3:.1f} ms (± {whole.uncertainty_s * 1e3:.1f})',
        value=whole.seconds * 1e3,
        threshold=limits['most_ms'],
        advice='',
    )


@collection_check('lag_change', least_ms=25, sigmas=6, alone_sigmas=8)
def change(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find episodes in which the lag changes on the way, more than it does in others."""
    having = [s for s in summaries if s.lag_change is not None and s.lag_change.correlation > 0.4]
    changes = np.array([s.lag_change.seconds for s in having if s.lag_change])
    scatter = spread(changes) if len(changes) >= 5 else 0.0
    for summary, value in zip(having, changes, strict=True):
        assert summary.lag_change is not None
        limit = limits['sigmas'] * scatter
        if not scatter:
            limit = limits['alone_sigmas'] * summary.lag_change.uncertainty_s
        limit = max(limits['least_ms'] / 1e3, limit)
        if abs(value) > limit:
            yield summary.find(
                Severity.WARNING,
                f'its lag to the command changes by {value * 1e3:+.1f} ms in mid-episode',
                value=abs(value) * 1e3,
                threshold=limit * 1e3,
                advice='look for a stamp or a queue that changed; do not train across the change',
            )


@collection_check('lag_shift', least_ms=12, sigmas=6)
def shift(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find episodes whose lag differs from the others'."""
    having = [s for s in summaries if s.lag is not None and s.lag.correlation > 0.5]
    lags = np.array([s.lag.seconds for s in having if s.lag])
    if len(lags) < 5:
        return
    usual, scatter = float(np.median(lags)), spread(lags)
    limit = max(limits['least_ms'] / 1e3, limits['sigmas'] * scatter)
    for summary, value in zip(having, lags, strict=True):
        if abs(value - usual) > limit:
            yield summary.find(
                Severity.WARNING,
                f'trails the command by {value * 1e3:.1f} ms, other episodes by '
                f'{usual * 1e3:.1f} ms',
                value=value * 1e3,
                threshold=(usual + limit) * 1e3,
                advice="a stream's stamps are shifted: find the stream, declare the correction",
            )

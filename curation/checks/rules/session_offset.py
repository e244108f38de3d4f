# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Offsets pooled over a session's episodes: what they are, and sessions in which they moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, Limits
from curation.checks.signal import spread
from curation.checks.summary import Summary

_Pool = tuple[Summary, float, float]  # its first episode, offset and one sigma, s
_LEAST_SIGMA_S = 1e-3


@collection_check('camera_session', least_ms=15, sigmas=5, least=4)
def cameras(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """State each session's camera offsets, pooled; find sessions in which one moved."""
    for name in sorted({name for s in summaries for name in s.camera_lags}):
        offsets = [(s, s.camera_lags[name].seconds) for s in summaries if name in s.camera_lags]
        yield from _sessions(_pools(offsets, limits), limits, name, 'the joints')


@collection_check('lag_session', least_ms=10, sigmas=5, least=4)
def lags(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """State each session's lag of state to command, pooled; find sessions in which it moved."""
    known = [(s, lag.seconds) for s in summaries if (lag := s.lags.combined()) is not None]
    for task in sorted({s.task for s in summaries}):
        pools = _pools([(s, value) for s, value in known if s.task == task], limits)
        yield from _sessions(pools, limits, '', 'the command')


def _pools(offsets: Sequence[tuple[Summary, float]], limits: Limits) -> dict[str, _Pool]:
    sessions: dict[str, list[tuple[Summary, float]]] = {}
    for summary, value in sorted(offsets, key=lambda pair: pair[0].start_ns):
        sessions.setdefault(summary.session, []).append((summary, value))
    found = {}
    for session, members in sessions.items():
        if len(members) < limits['least']:
            continue
        values = np.array([value for _, value in members])
        # the standard error of a median is 1.25 that of a mean
        sigma = max(1.2533 * spread(values) / np.sqrt(len(values)), _LEAST_SIGMA_S)
        found[session] = (members[0][0], float(np.median(values)), float(sigma))
    return found


def _sessions(
    pools: Mapping[str, _Pool], limits: Limits, stream: str, to: str
) -> Iterator[Finding]:
    for session, (first, value, sigma) in pools.items():
        others = [pool for name, pool in pools.items() if name != session]
        # with one other session the later one has moved
        if len(others) == 1:
            others = [other for other in others if other[0].start_ns < first.start_ns]
        usual = float(np.median([other[1] for other in others])) if others else value
        doubt = float(np.median([other[2] for other in others])) if others else 0.0
        limit = max(limits['least_ms'] / 1e3, limits['sigmas'] * float(np.hypot(sigma, doubt)))
        moved = abs(value - usual) > limit
        told = f'session {session or "(unnamed)"} trails {to} by {value * 1e3:.1f} ms'
        told += f' (± {sigma * 1e3:.1f}) over its episodes'
        yield first.find(
            Severity.WARNING if moved else Severity.NOTE,
            f'{told}, other sessions by {usual * 1e3:.1f} ms' if moved else told,
            stream=stream,
            value=value * 1e3,
            threshold=(usual + limit) * 1e3,
            advice="a clock or driver moved between sessions: declare the session's correction"
            if moved
            else '',
        )

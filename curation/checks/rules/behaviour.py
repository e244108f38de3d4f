# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Trembling, idle and unusually long or short episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.align.episode import Values
from curation.checks.among import same_joints
from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, Limits
from curation.checks.signal import spread
from curation.checks.summary import path_scale, Summary

_FEW = 200  # episodes


@collection_check('tremor', gain=3.5, least=0.003, alone=0.012)
def tremor(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find episodes in which a joint trembles more than it does in the others, rms rad or m."""
    for group in same_joints(summaries):
        values = np.array([s.tremor for s in group])
        if not np.isfinite(values).any():
            continue
        limit = limit_of_all = np.full(values.shape[1], limits['alone'])
        if len(group) >= 5:
            usual = np.nanmedian(values, axis=0)
            limit_of_all = np.maximum(limits['gain'] * usual, limits['least'])
            few = len(group) < _FEW  # of which one is part of what is high
            high = np.nanpercentile(values, 95, axis=0)
        for i, (summary, value) in enumerate(zip(group, values, strict=True)):
            if len(group) >= 5:
                if few:
                    high = np.nanpercentile(np.delete(values, i, axis=0), 95, axis=0)
                limit = np.maximum(limit_of_all, 1.7 * high)
            over = np.nan_to_num(value / limit)
            worst = int(np.argmax(over))
            if over[worst] > 1:
                yield summary.find(
                    Severity.WARNING,
                    f"joint '{summary.names[worst]}' trembles by {value[worst]:.4f} rms between 4 "
                    'and 12 Hz',
                    value=value[worst],
                    threshold=limit[worst],
                    advice="support the operator's arm, filter the leader, or give a break",
                )


@collection_check('idle', seconds=2.0, sigmas=6)
def idle(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find long idle times at the start, in the middle or at the end, against other episodes."""
    for group in same_joints(summaries):
        for part, where in enumerate(('at the start', 'in the middle', 'at the end')):
            values = np.array([(s.idle[part][1] - s.idle[part][0]) / 1e9 for s in group])
            limit = limits['seconds']
            if len(group) >= 5:
                limit = max(limit, float(np.median(values)) + limits['sigmas'] * spread(values))
            for summary, value in zip(group, values, strict=True):
                if value > limit:
                    yield summary.find(
                        Severity.WARNING,
                        f'idle for {value:.1f} s {where}',
                        value=value,
                        threshold=limit,
                        advice='cut it off, or start and stop closer to the task',
                        span_ns=summary.idle[part],
                    )


@collection_check(
    'duration',
    long=1.7,
    longest=2.0,
    shortest=0.6,
    sigmas=3.5,
    least=5,
    end_gain=1.5,
    end_shorter=0.9,
)
def duration(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find episodes much longer or shorter than the task's median, or ended where none ends."""
    for group in same_joints(summaries):
        if len(group) < limits['least']:
            continue
        seconds = np.array([max(s.duration_s, 1e-9) for s in group])
        ratios = seconds / np.median(seconds)
        usual = float(np.exp(limits['sigmas'] * spread(np.log(ratios))))
        shortest = min(limits['shortest'], 1 / usual)
        longest = max(limits['long'], min(limits['longest'], usual))
        away = _ends_away(group)
        for summary, ratio, far in zip(group, ratios.tolist(), away.tolist(), strict=True):
            if ratio > longest:
                yield summary.find(
                    Severity.WARNING,
                    f"takes {ratio:.1f} times the task's median",
                    value=ratio,
                    threshold=longest,
                    advice='look for retries or a forgotten stop',
                )
            elif ratio < shortest:
                yield summary.find(
                    Severity.WARNING,
                    f"takes {ratio:.0%} of the task's median: aborted?",
                    value=ratio,
                    threshold=shortest,
                    advice='look whether it was ended before the task was',
                )
            elif ratio < limits['end_shorter'] and far > limits['end_gain']:
                yield summary.find(
                    Severity.WARNING,
                    f"takes {ratio:.0%} of the task's median and ends where others don't: "
                    'aborted?',
                    value=far,
                    threshold=limits['end_gain'],
                    advice='look whether it was ended before the task was',
                )


def _ends_away(group: Sequence[Summary]) -> Values:
    """Return how far each episode ends from where three others end (n,).

    1 is what 95 % of the episodes stay below.
    """
    paths = np.array([s.path for s in group])
    ends = paths[:, -2:].mean(axis=1) / path_scale(paths)
    apart = np.sqrt(((ends[:, None] - ends[None]) ** 2).mean(axis=2))
    nearest = np.sort(apart, axis=1)[:, 1:4].mean(axis=1)
    return np.asarray(nearest / max(float(np.percentile(nearest, 95)), 0.02))

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Trembling, idle and unusually long or short episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, Limits
from curation.checks.rules.joint_identity import same_joints
from curation.checks.signal import spread
from curation.checks.summary import Summary


@collection_check('tremor', gain=3.5, least=0.003, alone=0.012)
def tremor(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find episodes in which a joint trembles more than it does in the others, rms rad or m."""
    for group in same_joints(summaries):
        values = np.array([s.tremor for s in group])
        if not np.isfinite(values).any():
            continue
        limit = np.full(values.shape[1], limits['alone'])
        if len(group) >= 5:
            usual = np.nanmedian(values, axis=0)
            high = np.nanpercentile(values, 95, axis=0)
            limit = np.maximum(np.maximum(limits['gain'] * usual, 1.5 * high), limits['least'])
        for summary, value in zip(group, values, strict=True):
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
            values = np.array([s.idle_s[part] for s in group])
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
                    )


@collection_check('duration', longest=2.0, shortest=0.5, least=5)
def duration(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find episodes much longer or shorter than the task's median."""
    for group in same_joints(summaries):
        if len(group) < limits['least']:
            continue
        usual = float(np.median([s.duration_s for s in group]))
        for summary in group:
            ratio = summary.duration_s / max(usual, 1e-9)
            if ratio > limits['longest']:
                yield summary.find(
                    Severity.WARNING,
                    f"takes {ratio:.1f} times the task's median",
                    value=ratio,
                    threshold=limits['longest'],
                    advice='look for retries or a forgotten stop',
                )
            elif ratio < limits['shortest']:
                yield summary.find(
                    Severity.WARNING,
                    f"takes {ratio:.0%} of the task's median: aborted?",
                    value=ratio,
                    threshold=limits['shortest'],
                    advice='look whether it was ended before the task was',
                )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""By how much each camera trails the arm, and sessions where that moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.checks.finding import Finding, Severity
from curation.checks.offsets import camera_delay
from curation.checks.registry import collection_check, episode_check, Limits
from curation.checks.signal import spread
from curation.checks.summary import Summary
from curation.checks.view import View


@episode_check('camera_offset', most_ms=150)
def offset(view: View, limits: Limits) -> Iterator[Finding]:
    """State each camera's offset to the measured joints, or that it can't be told."""
    for name in view.features:
        found = camera_delay(view, name)
        if found is None:
            yield view.find(
                Severity.NOTE,
                name,
                "its offset to the joints can't be told: too little motion",
                value=0,
                threshold=0,
                advice='',
            )
            continue
        clear = found.correlation > 0.5 and found.uncertainty_s < 0.02
        severity = (
            Severity.WARNING
            if clear and abs(found.seconds) * 1e3 > limits['most_ms']
            else Severity.NOTE
        )
        yield view.find(
            severity,
            name,
            f'trails the joints by {found.seconds * 1e3:.0f} ms '
            f'(± {found.uncertainty_s * 1e3:.0f})',
            value=found.seconds * 1e3,
            threshold=limits['most_ms'],
            advice='stamp images at capture, or declare the correction'
            if severity is Severity.WARNING
            else '',
        )


@collection_check('camera_shift', least_ms=25, sigmas=5)
def shift(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find episodes in which a camera's offset is not what it is in the others."""
    for name in sorted({name for s in summaries for name in s.camera_lags}):
        having = [s for s in summaries if name in s.camera_lags]
        lags = np.array([s.camera_lags[name].seconds for s in having])
        if len(lags) < 5:
            continue
        usual, scatter = float(np.median(lags)), spread(lags)
        for summary, value in zip(having, lags, strict=True):
            doubt = limits['sigmas'] * scatter + summary.camera_lags[name].uncertainty_s
            limit = max(limits['least_ms'] / 1e3, doubt)
            if abs(value - usual) > limit:
                yield summary.find(
                    Severity.WARNING,
                    f'trails the joints by {value * 1e3:.0f} ms, in other '
                    f'episodes by {usual * 1e3:.0f} ms',
                    stream=name,
                    value=value * 1e3,
                    threshold=(usual + limit) * 1e3,
                    advice="the camera's stamps moved: look at its driver, declare the correction",
                )

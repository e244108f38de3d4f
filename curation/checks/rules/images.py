# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Cameras that are black, overexposed or blurred."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, episode_check, Limits
from curation.checks.signal import longest
from curation.checks.summary import Summary
from curation.checks.view import View


@episode_check('exposure', dark=0.995, bright=0.5, seconds=0.15)
def exposure(view: View, limits: Limits) -> Iterator[Finding]:
    """Find stretches of images that are nearly all black or nearly all white."""
    for name, features in view.features.items():
        intact = np.ones(len(features), bool)
        intact[list(features.broken)] = False
        for word, share, limit in (
            ('black', features.dark, limits['dark']),
            ('overexposed', features.bright, limits['bright']),
        ):
            start, end = longest((share > limit) & intact)
            if end == start:
                continue
            first, last = features.stamps_ns[start], features.stamps_ns[end - 1]
            if (last - first) / 1e9 >= limits['seconds'] or end - start == len(features):
                worst = float(share[start:end].max())
                yield view.find(
                    Severity.ERROR,
                    name,
                    f'{word} for {(last - first) / 1e9:.2f} s ({worst:.0%} of the pixels)',
                    value=worst,
                    threshold=limit,
                    start_ns=first,
                    end_ns=last,
                    advice='look at the lens, the light and the exposure setting',
                )


@collection_check('blur', part=0.4)
def blur(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find cameras much less sharp than in the other episodes."""
    names = sorted({name for summary in summaries for name in summary.cameras})
    for name in names:
        having = [s for s in summaries if name in s.cameras]
        usual = float(np.median([s.cameras[name].sharpness for s in having]))
        for summary in having:
            sharp = summary.cameras[name].sharpness
            if len(having) >= 3 and sharp < limits['part'] * usual:
                yield summary.find(
                    Severity.WARNING,
                    f'{sharp / usual:.0%} as sharp as usual',
                    stream=name,
                    value=sharp / usual,
                    threshold=limits['part'],
                    advice='clean the lens and set the focus',
                )

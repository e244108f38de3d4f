# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Cameras that are black, overexposed or blurred."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.align.episode import Times, Values
from curation.checks.among import by_camera
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


@collection_check('blur', part=0.4, third=0.25, least=0.6)
def blur(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find cameras much less sharp than in the other episodes, all the time or for a third."""
    for name, having in by_camera(summaries):
        sharp = np.array([s.cameras[name].sharpness for s in having])
        for summary, ratio, parts in _lower(having, sharp, limits):
            yield summary.find(
                Severity.WARNING,
                f'{ratio:.0%} as sharp as usual',
                stream=name,
                value=ratio,
                threshold=limits['part'],
                advice='clean the lens and set the focus',
                span_ns=summary.span_of(parts),
            )


@collection_check('exposure', part=0.35, third=0.25, least=0.6)
def darkness(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find cameras much darker than in the other episodes, all the time or for a third."""
    for name, having in by_camera(summaries):
        light = np.array([s.cameras[name].colour.mean(axis=(1, 2, 3)) for s in having])
        for summary, ratio, parts in _lower(having, light, limits):
            yield summary.find(
                Severity.WARNING,
                f'{ratio:.0%} as bright as usual',
                stream=name,
                value=ratio,
                threshold=limits['part'],
                advice='look at the lens, the light and the exposure setting',
                span_ns=summary.span_of(parts),
            )


def _lower(
    having: Sequence[Summary], values: Values, limits: Limits
) -> Iterator[tuple[Summary, float, Times]]:
    """Yield (episode, its part of the usual, the thirds concerned) of values (n, thirds).

    Lower than usual, and than any other episode is at that time: what a camera sees may change.
    """
    ratios = values / np.maximum(np.nanmedian(values, axis=0), 1e-9)
    least = np.sort(np.where(np.isfinite(ratios), ratios, 1.0), axis=0)[:2]
    others = np.where(ratios == least[0], least[1], least[0])
    whole = np.nanmedian(ratios, axis=1)
    for summary, ratio, row, rest in zip(having, whole.tolist(), ratios, others, strict=True):
        low = np.flatnonzero((row < limits['third']) & (row < limits['least'] * rest))
        if ratio < limits['part']:
            yield summary, ratio, np.arange(len(row))
        elif len(low):
            yield summary, float(row[low].min()), low

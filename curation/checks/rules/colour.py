# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Red and blue exchanged, or two cameras: what fits the other episodes only when exchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from curation.align.episode import Values
from curation.checks.among import by_camera
from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, Limits
from curation.checks.summary import Summary


@collection_check('colour_order', ratio=1.5, least=2.0)
def colour(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find cameras whose red and blue are exchanged against the other episodes."""
    for name, having in by_camera(summaries):
        chroma = np.array([_chroma(s, name) for s in having])  # (episodes, thirds, h, w)
        usual = np.median(chroma, axis=0)
        as_is = np.abs(chroma - usual).mean(axis=(2, 3))
        exchanged = np.abs(-chroma - usual).mean(axis=(2, 3))
        wrong = (as_is > limits['least']) & (as_is > limits['ratio'] * exchanged)
        for i in np.flatnonzero(wrong.any(axis=1)).tolist():
            parts = np.flatnonzero(wrong[i])
            yield having[i].find(
                Severity.ERROR,
                'red and blue look exchanged against the other episodes',
                stream=name,
                value=float((as_is[i] / np.maximum(exchanged[i], 1e-9)).max()),
                threshold=limits['ratio'],
                advice='declare the encoding that the driver really sends (rgb8 or bgr8)',
                span_ns=having[i].span_of(parts),
            )


def _chroma(summary: Summary, name: str) -> Values:
    image = summary.cameras[name].colour
    return np.asarray(image[..., 0] - image[..., 2])


@collection_check('camera_exchanged', ratio=1.5, least=6.0)
def cameras(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find two cameras of which each shows what the other one does in other episodes."""
    images = {
        name: (having, np.array([s.cameras[name].colour for s in having]))
        for name, having in by_camera(summaries)
    }
    for one, other in combinations(images, 2):
        (having, mine), (others, theirs) = images[one], images[other]
        if having != others or mine.shape != theirs.shape:
            continue
        usual, usual_other = np.median(mine, axis=0), np.median(theirs, axis=0)
        as_is = _apart(mine, usual) + _apart(theirs, usual_other)
        exchanged = _apart(mine, usual_other) + _apart(theirs, usual)
        for summary, before, after in zip(having, as_is, exchanged, strict=True):
            if before > limits['least'] and before > limits['ratio'] * after:
                yield summary.find(
                    Severity.ERROR,
                    f'it and {other} look exchanged against the other episodes',
                    stream=one,
                    value=before / max(after, 1e-9),
                    threshold=limits['ratio'],
                    advice='name cameras by serial number or by-id path, never by their order',
                )


def _apart(images: Values, usual: Values) -> Values:
    return np.asarray(np.abs(images - usual).mean(axis=(1, 2, 3, 4)))

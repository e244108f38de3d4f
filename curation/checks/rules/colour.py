# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Red and blue exchanged: an episode whose colours fit the others only when exchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, Limits
from curation.checks.summary import Summary


@collection_check('colour_order', ratio=1.5, least=2.0)
def colour(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find cameras whose red and blue are exchanged against the other episodes."""
    for name in sorted({name for summary in summaries for name in summary.cameras}):
        having = [s for s in summaries if name in s.cameras]
        shapes = {s.cameras[name].colour.shape for s in having}
        if len(having) < 3 or len(shapes) > 1:
            continue
        usual = np.median([_chroma(s, name) for s in having], axis=0)
        for summary in having:
            chroma = _chroma(summary, name)
            as_is, exchanged = np.abs(chroma - usual).mean(), np.abs(-chroma - usual).mean()
            if as_is > limits['least'] and as_is > limits['ratio'] * exchanged:
                yield summary.find(
                    Severity.ERROR,
                    'red and blue look exchanged against the other episodes',
                    stream=name,
                    value=as_is / max(exchanged, 1e-9),
                    threshold=limits['ratio'],
                    advice='declare the encoding that the driver really sends (rgb8 or bgr8)',
                )


def _chroma(summary: Summary, name: str) -> np.ndarray:
    image = summary.cameras[name].colour
    return np.asarray(image[..., 0] - image[..., 2])

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""An episode among the others of its task: which those are, and what is common among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.align.episode import Values
from curation.checks.summary import Summary

_OFTEN = 90  # percentile; what a tenth of the episodes have may be a fault that they share


def same_joints(summaries: Sequence[Summary]) -> list[list[Summary]]:
    """Return the episodes in groups of one task and one set of joints."""
    groups: dict[tuple[str, tuple[str, ...]], list[Summary]] = {}
    for summary in summaries:
        groups.setdefault((summary.task, summary.names), []).append(summary)
    return list(groups.values())


def by_camera(summaries: Sequence[Summary]) -> Iterator[tuple[str, list[Summary]]]:
    """Yield each camera with the episodes that have it, where three can be compared."""
    for name in sorted({name for summary in summaries for name in summary.cameras}):
        having = [s for s in summaries if name in s.cameras]
        shapes = {s.cameras[name].background.shape for s in having}
        if len(having) >= 3 and len(shapes) == 1:
            yield name, having


def others_limit(values: Values, gain: float) -> Values:
    """Return for each episode and joint (n, k) what is more than the others explain.

    That is ``gain`` times the most of any other episode, or twice that gain of what 90 % have,
    where a few have much more.
    """
    top = np.sort(values, axis=0)[-2:]
    most = np.where(values == top[1], top[0], top[1])
    often = np.percentile(values, _OFTEN, axis=0)
    return np.asarray(gain * np.minimum(most, 2 * often))

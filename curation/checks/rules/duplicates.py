# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Episodes that are in the collection twice: exactly, warped in time, or with noise added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.align.episode import Values
from curation.checks.among import same_joints
from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, Limits
from curation.checks.summary import path_scale, Summary


@collection_check('duplicate', part=0.45)
def duplicates(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find pairs of episodes that are nearer, warped in time, than different attempts are."""
    for group in same_joints(summaries):
        if len(group) < 2:
            continue
        paths = np.array([s.path for s in group])
        paths = paths / path_scale(paths)
        first, second = np.triu_indices(len(group), 1)
        # a bound on the warped distance prunes most pairs: where they begin and end
        ends = np.abs(paths[first][:, [0, -1]] - paths[second][:, [0, -1]]).mean(axis=(1, 2))
        near = np.argsort(ends)[: max(4 * len(group), 20)]
        first, second = first[near], second[near]
        distance = warped_distance(paths[first], paths[second])
        nearest = np.full(len(group), np.inf)
        np.minimum.at(nearest, first, distance)
        np.minimum.at(nearest, second, distance)
        usual = float(np.median(nearest[np.isfinite(nearest)])) if len(group) >= 5 else 0.04
        for i, j, apart in zip(first, second, distance, strict=True):
            if group[i].id == group[j].id or apart < limits['part'] * usual:
                exact = group[i].id == group[j].id
                word = 'is the same as' if exact else 'is nearly the same as'
                yield group[j].find(
                    Severity.WARNING,
                    f'{word} {group[i].episode}',
                    value=apart,
                    threshold=limits['part'] * usual,
                    advice='keep one of the two, and both out of different splits',
                )


def warped_distance(one: Values, other: Values) -> Values:
    """Return the dynamic-time-warping distance of pairs of paths (pairs, points, k): (pairs,).

    The mean over the warping path of the mean absolute difference; all pairs at once.
    """
    pairs, points, _ = one.shape
    band = max(points // 4, 1)
    total = np.full((pairs, points + 1, points + 1), np.inf)
    total[:, 0, 0] = 0
    for i in range(1, points + 1):
        for j in range(max(1, i - band), min(points, i + band) + 1):
            cost = np.abs(one[:, i - 1] - other[:, j - 1]).mean(axis=1)
            total[:, i, j] = cost + np.minimum(
                np.minimum(total[:, i - 1, j], total[:, i, j - 1]), total[:, i - 1, j - 1]
            )
    return np.asarray(total[:, points, points] / points)

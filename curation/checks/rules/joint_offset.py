# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Joints whose zero moved: measured beside their command by more than in other episodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.checks.among import others_limit, same_joints
from curation.checks.finding import Finding, Severity
from curation.checks.registry import collection_check, Limits
from curation.checks.signal import spread
from curation.checks.summary import Summary


@collection_check('joint_offset', least=0.06, sigmas=8.0, gain=2.5)
def offset(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find joints that are usually beside their command otherwise than in other episodes."""
    for group in same_joints(summaries):
        if len(group) < 5:
            continue
        # what a gripper holds keeps it from its command
        bias = np.array([np.where(s.grippers, 0.0, s.bias) for s in group])
        apart = np.nan_to_num(np.abs(bias - np.median(bias, axis=0)))
        scatter = np.array([spread(column) for column in bias.T])
        limit = np.maximum(others_limit(apart, limits['gain']), limits['least'])
        limit = np.maximum(limit, limits['sigmas'] * np.nan_to_num(scatter))
        for summary, value, most in zip(group, apart, limit, strict=True):
            k = int(np.argmax(value / most))
            if value[k] > most[k]:
                yield summary.find(
                    Severity.WARNING,
                    f"joint '{summary.names[k]}' is {value[k]:.3f} farther from its command than "
                    'in other episodes',
                    value=value[k],
                    threshold=most[k],
                    advice='its zero moved: calibrate it again, and look for a horn that slipped',
                )

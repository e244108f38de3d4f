# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The recorder stood still while the source went on: receive times against header stamps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from curation.checks.finding import Finding, Severity
from curation.checks.registry import episode_check, Limits
from curation.checks.rules.timing import periodic
from curation.checks.view import View


@episode_check('recorder_stall', least_ms=150, periods=4)
def stall(view: View, limits: Limits) -> Iterator[Finding]:
    """Find times when nothing was received although messages were stamped."""
    for series, _, _ in periodic(view):
        header, log = series.header_ns, series.log_ns
        if (header <= 0).any() or np.array_equal(header, log):
            continue
        order = np.argsort(log, kind='stable')
        steps, stamped = np.diff(log[order]), np.diff(header[order])
        limit = max(limits['least_ms'] * 1e6, limits['periods'] * float(np.median(steps)))
        stalled = np.flatnonzero((steps > limit) & (stamped < 0.5 * steps))
        if len(stalled):
            worst = int(stalled[np.argmax(steps[stalled])])
            yield view.find(
                Severity.WARNING,
                series.stream.name,
                f'the recorder received nothing for {steps[worst] / 1e6:.0f} ms while the source '
                'went on',
                value=steps[worst] / 1e6,
                threshold=limit / 1e6,
                start_ns=log[order[worst]],
                end_ns=log[order[worst + 1]],
                advice='look for a slow disk or a loaded machine; stamps are unaffected',
            )

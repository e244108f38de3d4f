# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Streams that are missing, begin late or end early."""

from __future__ import annotations

from collections.abc import Iterator

from curation.checks.finding import Finding, Severity
from curation.checks.registry import episode_check, Limits
from curation.checks.view import usual_span, View
from teleop_bridge.rig.schema import Role

_SPARSE = (Role.CAMERA_INFO, Role.INTERVENTION, Role.POLICY_PROPOSAL)


@episode_check('missing_stream')
def missing(view: View, limits: Limits) -> Iterator[Finding]:
    """Find declared streams without a message."""
    for stream in view.recording.missing:
        severity = Severity.ERROR if stream.required else Severity.NOTE
        yield view.find(
            severity,
            stream.name,
            f'{stream.topic} has no message',
            value=0,
            threshold=1,
            advice='start what publishes it, or correct its topic in the rig file',
        )


@episode_check('late_stream', seconds=0.5)
def late(view: View, limits: Limits) -> Iterator[Finding]:
    """Find required streams that begin well after, or end well before, the others."""
    for series in view.series():
        stream = series.stream
        if stream.latched or stream.role in _SPARSE or not stream.required:
            continue
        first, last = usual_span(series.stamps_ns)
        if first > view.end_ns or last < view.start_ns:
            continue  # it is on another clock, which has a check of its own
        for what, gap, at in (
            ('begins', first - view.start_ns, (view.start_ns, first)),
            ('ends', view.end_ns - last, (last, view.end_ns)),
        ):
            if gap > limits['seconds'] * 1e9:
                when = 'after the first stream' if what == 'begins' else 'before the last stream'
                yield view.find(
                    Severity.WARNING,
                    stream.name,
                    f'{what} {gap / 1e9:.2f} s {when}',
                    value=gap / 1e9,
                    threshold=limits['seconds'],
                    start_ns=at[0],
                    end_ns=at[1],
                    advice='wait for every stream before starting, or cut the episode',
                )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Spans that could not be read: cut files, damaged chunks, broken images."""

from __future__ import annotations

from collections.abc import Iterator

from curation.checks.finding import Finding, Severity
from curation.checks.registry import episode_check, Limits
from curation.checks.view import View


@episode_check('corrupt')
def corrupt(view: View, limits: Limits) -> Iterator[Finding]:
    """Find what was lost in reading."""
    for problem in view.recording.problems:
        severity = Severity.ERROR if problem.lost else Severity.NOTE
        yield view.find(
            severity,
            ', '.join(problem.topics),
            problem.text,
            value=1,
            threshold=0,
            start_ns=problem.start_ns,
            end_ns=problem.end_ns,
            advice='record again, or train on what is outside this span' if problem.lost else '',
        )


@episode_check('broken_image')
def broken(view: View, limits: Limits) -> Iterator[Finding]:
    """Find images that can't be decoded."""
    for name, features in view.features.items():
        if features.broken:
            stamps = features.stamps_ns[list(features.broken)]
            yield view.find(
                Severity.ERROR,
                name,
                f"{len(stamps)} images can't be decoded",
                value=len(stamps),
                threshold=0,
                start_ns=stamps[0],
                end_ns=stamps[-1],
                advice="look at the camera's cable and driver; leave these samples out",
            )

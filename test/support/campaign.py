# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Plant faults in one episode of a clean collection and see what the checks say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from curation.align.series import Recording
from curation.checks.finding import Finding, Severity
from curation.checks.registry import all_checks
from curation.checks.summary import summarise, Summary
from curation.checks.view import View
from support.faults import Fault


@dataclass
class Score:
    """Of one fault: how often it was planted, found, and found in the right episode and span."""

    planted: int = 0
    detected: int = 0
    attributed: int = 0
    missed: list[str] = field(default_factory=list)


class Campaign:
    """A clean collection whose summaries are kept, so that one altered episode is cheap to try."""

    def __init__(self, recordings: Sequence[Recording], *, images: bool) -> None:
        self._recordings = recordings
        self._images = images
        self._checks = all_checks()
        looked = [self._look(recording) for recording in recordings]
        self._summaries = [summary for _, summary in looked]
        own = [finding for findings, _ in looked for finding in findings]
        self.false_findings = _wrong([*own, *self._among(self._summaries)])

    def try_fault(self, fault: Fault, *, times: int, seed: int, leave: int = -1) -> Score:
        """Plant a fault in random episodes but ``leave``, one at a time."""
        rng = np.random.default_rng(seed)
        score = Score()
        known = {(f.check, f.episode) for f in self.false_findings}
        for _ in range(times):
            choices = [i for i in range(len(self._recordings)) if i != leave]
            i = int(rng.choice(choices))
            planted = fault(self._recordings[i], rng)
            findings, summary = self._look(planted.recording)
            others = list(self._summaries)
            others[i] = summary
            found = [*findings, *self._among(others)]
            found = found if planted.note else _wrong(found)
            hits = [
                f for f in found if f.check in planted.checks and (f.check, f.episode) not in known
            ]
            right = [
                f
                for f in hits
                if f.start_ns <= planted.end_ns
                and f.end_ns >= planted.start_ns
                and _names(f, planted.recording.name)
            ]
            score.planted += 1
            score.detected += bool(hits)
            score.attributed += bool(right)
            if not right:
                score.missed.append(self._recordings[i].name)
        return score

    def _look(self, recording: Recording) -> tuple[list[Finding], Summary | None]:
        view = View(recording, images=self._images)
        findings = [
            finding
            for check in self._checks.values()
            for finding in check.on_episode(view, check.limits)
        ]
        return findings, summarise(view)

    def _among(self, summaries: Sequence[Summary | None]) -> list[Finding]:
        usable = [summary for summary in summaries if summary is not None]
        return [
            finding
            for check in self._checks.values()
            for finding in check.on_collection(usable, check.limits)
        ]


def _names(finding: Finding, episode: str) -> bool:
    """Tell whether a finding is about an episode; one on a pair of duplicates names both."""
    return finding.episode == episode or episode in finding.message.split()


def _wrong(findings: Sequence[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is not Severity.NOTE]

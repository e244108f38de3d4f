# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The demo's second half: from bags to scored episodes, a dataset and a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from curation.align.episode import Episode
from curation.align.load import load_episode
from curation.align.options import AlignOptions, OnGap
from curation.checks.finding import Finding
from curation.checks.run import check_recordings
from curation.demo.play import Recorded
from curation.export.lerobot import export_lerobot, LeRobotOptions
from curation.export.scored import score_columns
from curation.report.write import write_report
from curation.scores.score import Score, score_all
from curation.sources.open import recordings

Advance = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Refined:
    """What came of the bags; gaps keep the episodes ``left_out`` out of the dataset."""

    scores: tuple[Score, ...]
    report: Path
    dataset: Path | None
    left_out: tuple[str, ...]
    findings: tuple[Finding, ...]


def refine(recorded: Sequence[Recorded], output: Path, *, advance: Advance) -> Refined:
    """Align, check, score, export and report what was kept; ``advance`` hears what, done, total.

    Where this machine was too slow for the rig's rates, the samples without a fresh message are
    masked and counted, not invented, and such an episode stays out of the dataset.
    """
    kept = [entry for entry in recorded if entry.episode_id]
    episodes: list[Episode] = []
    for entry in kept:
        advance('aligning', len(episodes), len(kept))
        episodes.append(load_episode(entry.bag, options=AlignOptions(on_gap=OnGap.MASK)))
    advance('checking', len(kept), len(kept))
    bags = [entry.bag for entry in kept]
    findings = tuple(check_recordings(recordings(bags), images=False))
    scores = score_all(episodes)
    whole = [episode for episode in episodes if episode.valid.all()]
    dataset = None
    if whole:
        options = LeRobotOptions(extra=score_columns(scores))
        dataset = export_lerobot(whole, output / 'lerobot', options, progress=advance).path
    report = write_report(
        episodes,
        output / 'report',
        scores=scores,
        findings=findings,
        progress=lambda done, total: advance('writing the report', done, total),
    )
    return Refined(
        scores=tuple(scores),
        report=report,
        dataset=dataset,
        left_out=tuple(episode.name for episode in episodes if not episode.valid.all()),
        findings=findings,
    )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Score each episode as it is closed, against those of its session before it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from curation.align.load import load_episode
from curation.align.options import AlignOptions, OnGap
from curation.scores.score import compare, measure, Score
from curation.scores.verdict import judge, Judgement
from teleop_bridge.rig.schema import Rig


@dataclass(frozen=True)
class Feedback:
    """What is told about one closed episode."""

    score: Score
    judgement: Judgement


class SessionScorer:
    """Keeps the session's scores; each bag is read once.

    Spans that are too stale are masked here: a scorer tells of them, and does not refuse.
    """

    def __init__(self, rig: Rig | None = None) -> None:
        self._rig = rig
        self._scores: list[Score] = []
        self._seen: set[Path] = set()

    def score(self, bag: Path) -> Feedback | None:
        """Score a closed bag; None where that was done before. Raises FlywheelError."""
        if bag in self._seen:
            return None
        self._seen.add(bag)
        episode = load_episode(bag, self._rig, AlignOptions(on_gap=OnGap.MASK))
        scores = compare([*self._scores, measure(episode)])
        self._scores = scores
        return Feedback(scores[-1], judge(scores[-1], scores))

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Scores as columns of an exported episode, so that loaders can select by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from curation.scores.score import Score
from curation.scores.verdict import judge


def score_columns(scores: Sequence[Score]) -> dict[str, dict[str, Any]]:
    """Return each episode's score columns by its content id."""
    return {
        score.episode_id: {
            'score.duration_ratio': score.duration_ratio,
            'score.smoothness': score.smoothness.ranking,
            'score.coverage_gain': score.coverage_gain,
            'score.verdict': judge(score, scores).verdict.value,
        }
        for score in scores
    }

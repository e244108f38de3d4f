# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the index page tells of all episodes together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
import math
from typing import Any

import numpy as np

from curation.align.episode import Episode
from curation.checks.finding import Finding
from curation.scores.collect_next import collect_next
from curation.scores.score import Score
from curation.scores.trend import session_trend
from teleop_bridge.rig.tasks import Tasks

Rows = Sequence[dict[str, Any]]

_PROPOSALS = 5
_DRIVES = 0.99  # share of authority from which on the human drove


def places_in_sessions(scores: Sequence[Score]) -> list[int]:
    """Return which of its session's episodes each is, from 1."""
    counts: Counter[str] = Counter()
    places = []
    for score in scores:
        counts[score.session_id] += 1
        places.append(counts[score.session_id])
    return places


def intervention_reasons(episodes: Sequence[Episode], rows: Rows) -> list[dict[str, Any]]:
    """Return interventions by kind and reason, the commonest first, with their episodes' rows."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for episode, row in zip(episodes, rows, strict=True):
        for entry in episode.interventions:
            groups[entry.kind, entry.reason].append(row)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return [
        {'kind': kind, 'reason': reason, 'count': len(found), 'rows': _distinct(found)}
        for (kind, reason), found in ordered
    ]


def found_by_check(findings: Sequence[Finding], rows: Rows) -> list[dict[str, Any]]:
    """Return findings by check and severity, the most severe first, with their episodes' rows."""
    named = {row['name']: row for row in rows}
    groups: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    for finding in findings:
        if finding.severity.value != 'note' and finding.episode in named:
            rank = 0 if finding.severity.value == 'error' else 1
            groups[rank, finding.check].append(named[finding.episode])
    return [
        {
            'severity': ('error', 'warning')[rank], 'check': check, 'rows': _distinct(found),
        }
        for (rank, check), found in sorted(groups.items(), key=lambda item: item[0])
    ]  # fmt: skip


def people(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Return how each operator does in each task, and by how much a session slows them down."""
    groups: dict[tuple[str, str], list[Score]] = defaultdict(list)
    for score in scores:
        if not score.human_share < _DRIVES:  # else it is the policy that is slow or quick
            groups[score.task, score.operator_id].append(score)
    told = []
    for (task, operator), members in sorted(groups.items()):
        sessions: dict[str, list[float]] = defaultdict(list)
        for score in members:
            sessions[score.session_id].append(math.log(max(score.duration_s, 1e-3)))
        trend = session_trend([np.array(values) for values in sessions.values()])
        smooth = [s.smoothness.ranking for s in members if math.isfinite(s.smoothness.ranking)]
        told.append(
            {
                'task': task,
                'operator': operator,
                'episodes': len(members),
                'success': sum(s.grade.startswith('success') for s in members) / len(members),
                'duration': float(np.median([s.duration_s for s in members])),
                'smoothness': float(np.median(smooth)) if smooth else None,
                'slower': [
                    100 * math.expm1(v) for v in (trend.slope, trend.low, trend.high)
                ] if math.isfinite(trend.slope) else None,
                'tires': trend.certain and trend.slope > 0,
            }
        )
    return told


def next_starts(
    episodes: Sequence[Episode], scores: Sequence[Score], tasks: Tasks | None
) -> list[dict[str, Any]]:
    """Return where to begin the next episodes of each task: the emptiest reachable starts."""
    groups: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for index, score in enumerate(scores):
        groups[score.task, score.coverage_basis, len(score.initial)].append(index)
    found = []
    for (task, basis, _), members in sorted(groups.items()):
        known = np.array([scores[index].initial for index in members])
        named = tasks.tasks.get(task) if tasks else None
        rig = episodes[members[0]].rig
        found += [
            {
                'task': task,
                'basis': basis,
                'point': list(proposal.point),
                'near': proposal.near,
                'gain': proposal.gain,
            }
            for proposal in collect_next(known, basis, rig, named, _PROPOSALS)
        ]
    return found


def _distinct(rows: Rows) -> list[dict[str, Any]]:
    return list({row['number']: row for row in rows}.values())

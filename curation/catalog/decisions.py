# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Every episode of a catalog with the facts that rules ask for, and what they say of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np
from sqlalchemy import case, ColumnElement, Connection, func, select

from curation.catalog.tables import EPISODES, FINDINGS, INTERVENTIONS, SCORES, SESSIONS
from curation.scores.among import percentile_among, roughness_among
from curation.scores.copies import clusters, near_copies
from curation.scores.coverage import gains
from curation.scores.rules import Rules, Verdict


@dataclass(frozen=True)
class Known:
    """One episode's row and what only the others of its task tell; ``cluster`` of near-copies."""

    row: Any
    facts: dict[str, float | str | None]
    cluster: int


@dataclass(frozen=True)
class Decision:
    """What becomes of an episode: by a person where ``reviewed``, else by the rules."""

    known: Known
    verdict: Verdict
    reasons: tuple[str, ...]
    reviewed: bool


def known_episodes(
    connection: Connection, conditions: Sequence[ColumnElement[bool]] = ()
) -> list[Known]:
    """Return the episodes that conditions select, oldest first, compared among themselves."""
    e, s = EPISODES.c, SCORES.c
    query = (
        select(EPISODES, s.duration_s, s.smoothness, s.grasps, s.idle_share, s.human_share,
               (s.masked + s.problems).label('lost'), s.coverage_basis, s.initial, s.outline,
               SESSIONS.c.kind.label('session_kind'))
        .join(SCORES, s.episode_id == e.id)
        .join(SESSIONS, SESSIONS.c.id == e.session_id)
        .where(*conditions)
        .order_by(e.start_ns, e.id)
    )
    rows = connection.execute(query).all()
    counts = _counts(connection)
    facts: list[dict[str, float | str | None]] = [
        {
            'task': row.task,
            'grade': row.grade,
            'operator': row.operator_id,
            'location': row.location,
            'source': row.source,
            'session_kind': row.session_kind,
            'duration_s': row.duration_s,
            'smoothness': row.smoothness,
            'grasps': row.grasps,
            'idle_share': row.idle_share,
            'human_share': row.human_share,
            'lost': row.lost,
            **counts.get(row.id, _NOTHING),
        }
        for row in rows
    ]
    cluster = np.arange(len(rows))
    for members in _groups([row.task for row in rows]):
        _compare(facts, members)
    for members in _groups([(r.task, r.coverage_basis, len(r.initial)) for r in rows]):
        initial = np.array([np.frombuffer(rows[i].initial, '<f8') for i in members])
        for index, gain in zip(members, gains(initial), strict=True):
            facts[index]['coverage_gain'] = float(gain)
    for members in _groups([(r.task, r.rig_id, len(r.outline)) for r in rows]):
        if not rows[members[0]].outline:
            continue
        outlines = np.array([np.frombuffer(rows[i].outline, '<f4') for i in members], float)
        found = clusters(len(members), near_copies(outlines))
        sizes = np.bincount(found, minlength=len(members))
        for index, first in zip(members, found, strict=True):
            cluster[index] = members[first]
            facts[index]['copies'] = int(sizes[first]) - 1
    return [Known(r, f, int(c)) for r, f, c in zip(rows, facts, cluster, strict=True)]


def decide(known: Sequence[Known], rules: Rules) -> list[Decision]:
    """Say keep, review or drop of each; what a person said counts before any rule."""
    decisions = []
    for entry in known:
        verdict, reasons = rules.decide(entry.facts)
        said = entry.row.verdict
        if said:
            verdict, reasons = Verdict(said), (f'a person said {said}',)
        decisions.append(Decision(entry, verdict, reasons, bool(said)))
    return decisions


_NOTHING: dict[str, float | str | None] = {
    'interventions': 0, 'unnamed_interventions': 0, 'errors': 0, 'warnings': 0,
}  # fmt: skip


def _counts(connection: Connection) -> dict[str, dict[str, float | str | None]]:
    i, f = INTERVENTIONS.c, FINDINGS.c
    counts: dict[str, dict[str, float | str | None]] = defaultdict(lambda: dict(_NOTHING))
    unnamed = func.sum(case((i.kind == '', 1), else_=0))
    for episode, total, nameless in connection.execute(
        select(i.episode_id, func.count(), unnamed).group_by(i.episode_id)
    ):
        counts[episode] |= {'interventions': total, 'unnamed_interventions': int(nameless)}
    for episode, severity, total in connection.execute(
        select(f.episode_id, f.severity, func.count()).group_by(f.episode_id, f.severity)
    ):
        if severity in ('error', 'warning'):
            counts[episode][f'{severity}s'] = total
    return counts


def _groups(keys: Sequence[Any]) -> list[list[int]]:
    groups: dict[Any, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        groups[key].append(index)
    return list(groups.values())


def _compare(facts: list[dict[str, float | str | None]], members: list[int]) -> None:
    """Fill in what the episodes of one task tell of each other."""
    durations, rankings = (
        np.array([np.nan if (v := facts[i][name]) is None else v for i in members], float)
        for name in ('duration_s', 'smoothness')
    )
    median = float(np.median(durations))
    slow, smooth = (percentile_among(values, values) for values in (durations, rankings))
    rough = roughness_among(rankings, rankings)
    for place, index in enumerate(members):
        facts[index] |= {
            'duration_ratio': durations[place] / median if median > 0 else math.nan,
            'duration_percentile': slow[place],
            'smoothness_percentile': smooth[place],
            'roughness': rough[place],
            'peers': len(members),
        }

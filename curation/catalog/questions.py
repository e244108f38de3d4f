# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The questions a team has about its episodes, each answered by one query or two."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import theilslopes
from sqlalchemy import and_, case, Connection, func, Select, select

from curation.catalog.answer import Answer, answer
from curation.catalog.tables import (
    EPISODES,
    FINDINGS,
    INTERVENTIONS,
    MANIFEST_EPISODES,
    MANIFESTS,
    MODELS,
    RIGS,
    SCORES,
    SESSIONS,
)
from curation.exceptions import CatalogError
from curation.scores.collect_next import collect_next
from curation.scores.copies import near_copies
from curation.scores.coverage import farthest_point_order
from curation.scores.trend import session_trend
from curation.train.intervals import wilson
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.loader import parse_rig
from teleop_bridge.rig.schema import Rig
from teleop_bridge.rig.tasks import parse_tasks, Task
from teleop_bridge.vocabulary import Grade, SessionKind

_DAY_NS = 86_400 * NANOSECONDS
_SUCCESSES = (Grade.SUCCESS_FIRST_TRY.value, Grade.SUCCESS_AFTER_RETRIES.value)


@dataclass(frozen=True)
class Asked:
    """What narrows a question; empty or 0 where it does not.

    ``days`` counts back from the newest episode, so that an answer does not change by itself.
    """

    task: str = ''
    checkpoint: str = ''
    finding: str = ''
    days: float = 0.0
    count: int = 5


def episodes(connection: Connection, asked: Asked) -> Answer:
    """Count episodes per task and location, with their grades."""
    e = EPISODES.c
    columns = [func.sum(case((e.grade == grade.value, 1), else_=0)) for grade in Grade]
    query = select(e.task, e.location, func.count(), *columns).group_by(e.task, e.location)
    found = connection.execute(_narrow(connection, query, asked).order_by(e.task, e.location))
    grades = ' '.join(grade.value for grade in Grade)
    return answer(f'task location episodes {grades}', found.all())


def collectors(connection: Connection, asked: Asked) -> Answer:
    """Tell who collected what, and how long it took."""
    e = EPISODES.c
    query = (
        select(e.operator_id, e.task, func.count(func.distinct(e.session_id)), func.count(),
               func.sum(e.end_ns - e.start_ns), func.sum(_succeeded()))
        .group_by(e.operator_id, e.task)
        .order_by(e.operator_id, e.task)
    )
    rows = connection.execute(_narrow(connection, query, asked)).all()
    return answer(
        'operator task sessions episodes hours success',
        [(o, t, s, n, round(int(ns) / 3600 / NANOSECONDS, 3), _share(ok, n))
         for o, t, s, n, ns, ok in rows],
    )


def interventions(connection: Connection, asked: Asked) -> Answer:
    """Tell how often each checkpoint was corrected, by kind and reason, with the trend."""
    e, i = EPISODES.c, INTERVENTIONS.c
    totals: dict[str, Counter[int]] = defaultdict(Counter)
    driven = select(e.checkpoint, e.start_ns).where(e.checkpoint != '')
    for checkpoint, start_ns in connection.execute(_narrow(connection, driven, asked)):
        totals[checkpoint][start_ns // _DAY_NS] += 1
    query = select(e.checkpoint, i.kind, i.reason, e.start_ns).join(
        EPISODES, e.id == i.episode_id
    ).where(e.checkpoint != '')
    reasons: dict[tuple[str, str, str], Counter[int]] = defaultdict(Counter)
    for checkpoint, kind, reason, start_ns in connection.execute(
        _narrow(connection, query, asked)
    ):
        reasons[checkpoint, kind, reason][start_ns // _DAY_NS] += 1
        reasons[checkpoint, 'all', ''][start_ns // _DAY_NS] += 1
    for checkpoint in totals:
        reasons.setdefault((checkpoint, 'all', ''), Counter())
    rows = []
    for (checkpoint, kind, reason), days in sorted(reasons.items()):
        total = totals[checkpoint]
        rates = [days[day] / total[day] for day in sorted(total)]
        rows.append((
            checkpoint, kind or 'not named', reason, sum(days.values()),
            round(sum(days.values()) / sum(total.values()), 3), _slope(sorted(total), rates),
        ))
    return answer(
        'checkpoint kind reason interventions per_episode per_day',
        rows,
        'per_day: how the rate per episode changes a day (Theil-Sen), empty below three days',
    )


def model(connection: Connection, asked: Asked) -> Answer:
    """Tell which manifest made each registered model."""
    query = select(
        MODELS.c.checkpoint, MODELS.c.file, MODELS.c.manifest, MANIFESTS.c.name, MODELS.c.metrics
    ).outerjoin(MANIFESTS, MANIFESTS.c.hash == MODELS.c.manifest)
    if asked.checkpoint:
        query = query.where(MODELS.c.checkpoint.startswith(asked.checkpoint, autoescape=True))
    rows = connection.execute(query.order_by(MODELS.c.checkpoint)).all()
    return answer('checkpoint file manifest name metrics', rows)


def deployed(connection: Connection, asked: Asked) -> Answer:
    """Tell which manifest made the model that drove last, on each rig."""
    e = EPISODES.c
    newest = (
        select(e.rig_id, func.max(e.start_ns).label('start_ns'))
        .where(e.checkpoint != '')
        .group_by(e.rig_id)
        .subquery()
    )
    query = (
        select(RIGS.c.name, e.checkpoint, e.session_id, MODELS.c.file, MANIFESTS.c.name,
               MODELS.c.manifest)
        .join(newest, and_(e.rig_id == newest.c.rig_id, e.start_ns == newest.c.start_ns))
        .join(RIGS, RIGS.c.id == e.rig_id)
        .outerjoin(MODELS, MODELS.c.checkpoint == e.checkpoint)
        .outerjoin(MANIFESTS, MANIFESTS.c.hash == MODELS.c.manifest)
        .where(e.checkpoint != '')
        .order_by(RIGS.c.name, e.checkpoint)
    )
    return answer(
        'rig checkpoint session file manifest manifest_hash', connection.execute(query).all(),
        'manifest is empty where nobody registered the model',
    )


def copies(connection: Connection, asked: Asked) -> Answer:
    """List episodes whose joints went nearly the same way as an earlier one's."""
    e, s = EPISODES.c, SCORES.c
    query = select(e.id, e.path, e.task, e.rig_id, s.outline).join(SCORES, s.episode_id == e.id)
    query = query.where(func.length(s.outline) > 0).order_by(e.start_ns, e.id)
    groups: dict[tuple[str, str, int], list[Any]] = defaultdict(list)
    for row in connection.execute(_narrow(connection, query, asked)):
        groups[row.task, row.rig_id, len(row.outline)].append(row)
    rows = []
    for (task, _, _), members in sorted(groups.items()):
        outlines = np.frombuffer(b''.join(m.outline for m in members), '<f4')
        for i, j, apart in near_copies(outlines.reshape(len(members), -1).astype(float)):
            rows.append((task, members[j].id, members[i].id, members[j].path, round(apart, 4)))
    return answer(
        'task episode like path distance_rad', rows,
        'distance: root mean square over joints at points evenly spaced along the way',
    )


def starts(connection: Connection, asked: Asked) -> Answer:
    """Count episodes per cluster of initial states: --count of them a task."""
    rows = []
    for (task, _, basis), found in sorted(_initial(connection, asked).items()):
        points = np.frombuffer(b''.join(found), '<f8').reshape(len(found), -1)
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            continue
        centres, _ = farthest_point_order(points, asked.count)
        distance, nearest = cKDTree(points[centres]).query(points)
        for index, centre in enumerate(centres):
            near = nearest == index
            where = ' '.join(f'{value:.3f}' for value in points[centre])
            radius = round(float(distance[near].max()), 4)
            rows.append((task, basis, where, int(near.sum()), radius))
    return answer('task basis start episodes radius', rows, 'start: m, or rad for joints')


def seen_by(connection: Connection, asked: Asked) -> Answer:
    """Tell which models saw each episode in training."""
    query = (
        select(MANIFEST_EPISODES.c.episode_id, MODELS.c.checkpoint, MANIFESTS.c.name)
        .join(MODELS, MODELS.c.manifest == MANIFEST_EPISODES.c.manifest)
        .join(MANIFESTS, MANIFESTS.c.hash == MANIFEST_EPISODES.c.manifest)
        .where(MANIFEST_EPISODES.c.split == 'train')
        .order_by(MANIFEST_EPISODES.c.episode_id, MODELS.c.checkpoint)
    )
    return answer('episode checkpoint manifest', connection.execute(query).all())


def success(connection: Connection, asked: Asked) -> Answer:
    """Tell each checkpoint's success in evaluation sessions, with its 95 % interval."""
    e = EPISODES.c
    query = (
        select(e.checkpoint, e.task, e.location, func.count(), func.sum(_succeeded()))
        .join(SESSIONS, SESSIONS.c.id == e.session_id)
        .where(SESSIONS.c.kind == SessionKind.EVALUATION.value)
        .group_by(e.checkpoint, e.task, e.location)
        .order_by(e.checkpoint, e.task, e.location)
    )
    rows = []
    for *which, count, good in connection.execute(_narrow(connection, query, asked)):
        low, high = wilson(int(good), count)
        rows.append((*which, count, _share(good, count), round(low, 3), round(high, 3)))
    return answer('checkpoint task location episodes success low high', rows)


def next_starts(connection: Connection, asked: Asked) -> Answer:
    """Propose where to begin the next episodes of each task: its emptiest regions."""
    rigs: dict[str, tuple[Rig, dict[str, Task]]] = {}
    for row in connection.execute(select(RIGS)):
        rigs[row.id] = parse_rig(row.text), parse_tasks(row.tasks).tasks if row.tasks else {}
    rows = []
    for (task, rig_id, basis), found in sorted(_initial(connection, asked).items()):
        rig, tasks = rigs[rig_id]
        points = np.frombuffer(b''.join(found), '<f8').reshape(len(found), -1)
        for proposal in collect_next(points, basis, rig, tasks.get(task), asked.count):
            start = [round(value, 3) for value in proposal.point]
            rows.append((task, basis, start, proposal.location, round(proposal.gain, 4)))
    return answer(
        'task basis start near distance',
        rows,
        'start: m for object positions, rad for joints; near: the closest location; '
        'distance: to the nearest start there is',
    )


def review(connection: Connection, asked: Asked) -> Answer:
    """List what a person should look at, and why."""
    e, f, i = EPISODES.c, FINDINGS.c, INTERVENTIONS.c
    why: dict[tuple[str, str], list[str]] = defaultdict(list)
    flagged = select(e.id, e.path, f.message).join(FINDINGS, f.episode_id == e.id)
    for key_id, path, message in connection.execute(
        _narrow(connection, flagged.where(f.severity != 'note', e.verdict == ''), asked)
    ):
        why[key_id, path].append(message)
    ungraded = select(e.id, e.path).where(
        e.grade.in_(('', Grade.PARTIAL.value)), e.verdict == ''
    )
    for key_id, path in connection.execute(_narrow(connection, ungraded, asked)):
        why[key_id, path].append('has no grade, or was done in part')
    unnamed = select(e.id, e.path).join(INTERVENTIONS, i.episode_id == e.id)
    unnamed = unnamed.where(i.kind == '', e.verdict == '')
    for key_id, path in connection.execute(_narrow(connection, unnamed.distinct(), asked)):
        why[key_id, path].append('an intervention has no reason yet')
    return answer(
        'episode path why', [(k, path, '; '.join(w)) for (k, path), w in sorted(why.items())]
    )


def sizes(connection: Connection, asked: Asked) -> Answer:
    """Tell episodes, hours and bytes per source and task."""
    e = EPISODES.c
    query = (
        select(e.source, e.task, func.count(), func.sum(e.end_ns - e.start_ns), func.sum(e.bytes))
        .group_by(e.source, e.task)
        .order_by(e.source, e.task)
    )
    return answer(
        'source task episodes hours gigabytes',
        [(s, t, n, round(int(ns) / 3600 / NANOSECONDS, 3), round(int(size) / 1e9, 4))
         for s, t, n, ns, size in connection.execute(_narrow(connection, query, asked))],
    )


def failures(connection: Connection, asked: Asked) -> Answer:
    """Count why episodes did not succeed."""
    e = EPISODES.c
    query = (
        select(e.task, e.grade, e.end_reason, e.note, func.count())
        .where(e.grade.not_in(_SUCCESSES))
        .group_by(e.task, e.grade, e.end_reason, e.note)
        .order_by(func.count().desc(), e.task, e.grade, e.end_reason, e.note)
    )
    return answer(
        'task grade end_reason note episodes',
        connection.execute(_narrow(connection, query, asked)).all(),
    )


def findings(connection: Connection, asked: Asked) -> Answer:
    """List which episodes a finding touches; without its name, count them."""
    e, f = EPISODES.c, FINDINGS.c
    if not asked.finding:
        query = (
            select(f.check, f.severity, func.count(func.distinct(f.episode_id)))
            .join(EPISODES, e.id == f.episode_id)
            .group_by(f.check, f.severity)
            .order_by(f.check, f.severity)
        )
        return answer(
            'finding severity episodes',
            connection.execute(_narrow(connection, query, asked)).all(),
        )
    query_one = (
        select(e.id, e.path, f.stream, f.start_ns, f.end_ns, f.message)
        .join(EPISODES, e.id == f.episode_id)
        .where(f.check == asked.finding)
        .order_by(e.start_ns, f.position)
    )
    return answer(
        'episode path stream start_ns end_ns message',
        connection.execute(_narrow(connection, query_one, asked)).all(),
    )


def operators(connection: Connection, asked: Asked) -> Answer:
    """Compare operators per task, and tell who slows down over a session."""
    e, s = EPISODES.c, SCORES.c
    query = (
        select(e.task, e.operator_id, e.session_id, e.start_ns, s.duration_s, s.smoothness,
               _succeeded())
        .join(SCORES, s.episode_id == e.id)
        .where(e.checkpoint == '')  # while a policy drives it is the policy that is slow or quick
        .order_by(e.task, e.operator_id, e.start_ns)
    )
    groups: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for row in connection.execute(_narrow(connection, query, asked)):
        groups[row[0], row[1]].append(row)
    rows = []
    for (task, operator), members in sorted(groups.items()):
        smooth = np.array([m.smoothness for m in members if m.smoothness is not None], float)
        seconds = np.array([m.duration_s for m in members])
        rows.append((
            task, operator, len(members), _share(sum(m[6] for m in members), len(members)),
            round(float(np.median(seconds)), 2), _median_interval(smooth), _fatigue(members),
        ))
    return answer(
        'task operator episodes success duration_s smoothness slower_per_episode',
        rows,
        'smoothness: median with its 95 % interval, higher is smoother; '
        'slower_per_episode: growth of duration within a session (median slope, 95 % interval)',
    )


QUESTIONS: dict[str, Callable[[Connection, Asked], Answer]] = {
    'episodes': episodes,
    'starts': starts,
    'collectors': collectors,
    'operators': operators,
    'interventions': interventions,
    'model': model,
    'deployed': deployed,
    'seen-by': seen_by,
    'success': success,
    'next': next_starts,
    'review': review,
    'copies': copies,
    'sizes': sizes,
    'failures': failures,
    'findings': findings,
}


def ask(connection: Connection, question: str, asked: Asked) -> Answer:
    """Answer a question by its name; CatalogError names those that exist."""
    if question not in QUESTIONS:
        raise CatalogError(f"no question '{question}' (known: {', '.join(QUESTIONS)})")
    return QUESTIONS[question](connection, asked)


def _narrow(connection: Connection, query: Select[Any], asked: Asked) -> Select[Any]:
    e = EPISODES.c
    conditions = []
    if asked.task:
        conditions.append(e.task == asked.task)
    if asked.checkpoint:
        conditions.append(e.checkpoint.startswith(asked.checkpoint, autoescape=True))
    if asked.days:
        newest = connection.execute(select(func.max(e.start_ns))).scalar() or 0
        conditions.append(e.start_ns > newest - round(asked.days * _DAY_NS))
    return query.where(and_(*conditions)) if conditions else query


def _initial(connection: Connection, asked: Asked) -> dict[tuple[str, str, str], list[bytes]]:
    """Return initial states by task, rig and what they are of, oldest first."""
    e, s = EPISODES.c, SCORES.c
    query = select(e.task, e.rig_id, s.coverage_basis, s.initial)
    query = query.join(SCORES, s.episode_id == e.id).order_by(e.start_ns, e.id)
    groups: dict[tuple[str, str, str], list[bytes]] = defaultdict(list)
    for task, rig_id, basis, initial in connection.execute(_narrow(connection, query, asked)):
        groups[task, rig_id, basis].append(initial)
    return groups


def _succeeded() -> Any:
    return case((EPISODES.c.grade.in_(_SUCCESSES), 1), else_=0)


def _share(part: int, whole: int) -> float:
    return round(int(part) / whole, 3)


def _slope(days: list[int], rates: list[float]) -> float | None:
    return round(float(theilslopes(rates, days)[0]), 4) if len(days) > 2 else None


def _median_interval(values: Any) -> str:
    """Return the median with the 95 % interval that its order statistics give, for any values."""
    if len(values) < 6:  # fewer can't bound it
        return f'{np.median(values):.3f}' if len(values) else ''
    ordered, half = np.sort(values), 0.98 * math.sqrt(len(values))
    low = ordered[max(math.floor(len(values) / 2 - half), 0)]
    high = ordered[min(math.ceil(len(values) / 2 + half), len(values) - 1)]
    return f'{np.median(values):.3f} [{low:.3f}, {high:.3f}]'


def _fatigue(members: list[Any]) -> str:
    """Tell by how many percent an episode of a session takes longer than the one before."""
    sessions: dict[str, list[float]] = defaultdict(list)
    for member in members:
        sessions[member.session_id].append(math.log(max(member.duration_s, 1e-3)))
    found = session_trend([np.array(values) for values in sessions.values()])
    if not math.isfinite(found.slope):
        return ''
    slope, low, high = (100 * math.expm1(v) for v in (found.slope, found.low, found.high))
    return f'{slope:+.1f} % [{low:+.1f}, {high:+.1f}]'

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Freeze what a query and rules select from a catalog into a manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
import json
import math
from typing import Any

from sqlalchemy import ColumnElement, Connection

from curation.catalog.decisions import decide, Decision, known_episodes
from curation.catalog.tables import EPISODES, SESSIONS
from curation.exceptions import ManifestError
from curation.manifests.file import Entry, Manifest
from curation.manifests.split import Shares, split, Together, TRAIN
from curation.manifests.weights import episode_weights, Weighed, WeightOptions
from curation.scores.rules import guard, Rules, Verdict

_COLLECTED = 'collection'


@dataclass(frozen=True)
class Query:
    """Which episodes are looked at; what is empty does not narrow. Times are session times, ns.

    Evaluation sessions are left out unless ``session_kinds`` names them.
    """

    tasks: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    grades: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    checkpoints: tuple[str, ...] = ()
    session_kinds: tuple[str, ...] = (_COLLECTED,)
    since_ns: int = 0
    until_ns: int = 0

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the query's conditions on episodes joined with their sessions."""
        e = EPISODES.c
        named = {
            e.task: self.tasks,
            e.operator_id: self.operators,
            e.grade: self.grades,
            e.source: self.sources,
            e.checkpoint: self.checkpoints,
            SESSIONS.c.kind: self.session_kinds,
        }
        found: list[ColumnElement[bool]] = [
            column.in_(values) for column, values in named.items() if values
        ]
        if self.since_ns:
            found.append(e.start_ns >= self.since_ns)
        if self.until_ns:
            found.append(e.start_ns < self.until_ns)
        return found


@dataclass(frozen=True)
class FreezeOptions:
    """How to choose among what the query finds; ``keep_review`` keeps what rules flag."""

    rules: Rules
    query: Query = Query()
    weights: WeightOptions = field(default_factory=WeightOptions)
    shares: Shares = field(default_factory=dict)
    together: Together = Together.BEST
    seed: int = 0
    keep_review: bool = True
    one_of_copies: bool = True
    drop_tasks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Frozen:
    """A manifest, and what was left out of it with the reasons."""

    manifest: Manifest
    left_out: tuple[tuple[Decision, str], ...]


def freeze(
    connection: Connection, name: str, options: FreezeOptions, about: Mapping[str, Any]
) -> Frozen:
    """Return the manifest; ``about`` holds the alignment's and export's options with their hashes.

    Raises RulesError where the rules would leave nothing of a task, ManifestError where the query
    finds nothing or a split would lack a task.
    """
    decisions = decide(known_episodes(connection, options.query.conditions()), options.rules)
    if not decisions:
        raise ManifestError(f'{name}: the query finds no episode')
    reasons = _left_out(decisions, options)
    tasks = [str(decision.known.row.task) for decision in decisions]
    guard(tasks, [not reason for reason in reasons], options.drop_tasks)
    kept = [d for d, reason in zip(decisions, reasons, strict=True) if not reason]
    weights = episode_weights([_weighed(decision) for decision in kept], options.weights)
    first = [decision.known.row.id for decision in decisions]
    entries = [
        _entry(decision, float(weight), first[decision.known.cluster])
        for decision, weight in zip(kept, weights, strict=True)
    ]
    together = options.together
    if options.shares:
        dealt, together = split(
            entries, options.shares, together=options.together, seed=options.seed
        )
        entries = [Entry(**{**asdict(e), 'split': dealt[e.id]}) for e in entries]
    chosen_by = {
        'query': asdict(options.query),
        'rules': options.rules.text,
        'keep_review': options.keep_review,
        'one_of_copies': options.one_of_copies,
        'weights': options.weights.document(),
        'split': {
            'shares': dict(options.shares), 'together': together.value, 'seed': options.seed
        },
        **about,
    }
    left = tuple((d, r) for d, r in zip(decisions, reasons, strict=True) if r)
    stored = json.loads(json.dumps(chosen_by))  # as it will be read back
    return Frozen(Manifest(name, stored, tuple(entries)), left)


def _left_out(decisions: Sequence[Decision], options: FreezeOptions) -> list[str]:
    """Return why each is left out, empty where it stays; of near-copies the first stays."""
    reasons = []
    clusters: set[int] = set()
    for decision in decisions:
        why = ''
        if decision.verdict is Verdict.DROP:
            why = '; '.join(decision.reasons)
        elif decision.verdict is Verdict.REVIEW and not options.keep_review:
            why = f'to be reviewed: {"; ".join(decision.reasons)}'
        elif options.one_of_copies and decision.known.cluster in clusters:
            why = 'nearly a copy of one that is kept'
        else:
            clusters.add(decision.known.cluster)
        reasons.append(why)
    return reasons


def _weighed(decision: Decision) -> Weighed:
    facts = decision.known.facts
    smooth, slow = (facts[f'{name}_percentile'] for name in ('smoothness', 'duration'))
    return Weighed(
        int(decision.known.row.start_ns),
        str(decision.known.row.source),
        smooth if isinstance(smooth, float) else math.nan,
        slow if isinstance(slow, float) else math.nan,
    )


def _entry(decision: Decision, weight: float, cluster: str) -> Entry:
    row = decision.known.row
    return Entry(
        id=row.id,
        split=TRAIN,
        weight=round(weight, 6),
        name=row.name,
        task=row.task,
        grade=row.grade,
        operator=row.operator_id,
        session=row.session_id,
        rig=row.rig_id,
        checkpoint=row.checkpoint,
        source=row.source,
        cluster=cluster,
    )

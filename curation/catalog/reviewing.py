# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""One person's review: what rules or findings flagged, one after another, and what is said."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from curation.catalog.annotations import annotate, Annotation, What
from curation.catalog.database import writing
from curation.catalog.decisions import decide, Decision, known_episodes
from curation.catalog.reviewed import annotations_of, take_annotations
from curation.catalog.tables import EPISODES, FINDINGS, INTERVENTIONS
from curation.exceptions import AnnotationError
from curation.scores.rules import Rules, Verdict


@dataclass(frozen=True)
class Flagged:
    """An episode that somebody should look at, and why."""

    id: str
    name: str
    path: Path
    grade: str
    verdict: str
    reasons: tuple[str, ...]
    interventions: tuple[tuple[str, str, str], ...]  # id, kind, reason


class Review:
    """Steps through flagged episodes; what is said goes to the data folder's annotations."""

    def __init__(
        self, engine: Engine, folder: Path, rules: Rules, *, by: str, task: str = '',
        everything: bool = False,
    ) -> None:
        self._engine = engine
        self._folder = folder.absolute()
        self._rules = rules
        self._task = task
        self.by = by
        self._ids = [d.known.row.id for d in self._decide() if everything or _open(d)]

    def __len__(self) -> int:
        return len(self._ids)

    def flagged(self, index: int) -> Flagged:
        """Return one of the flagged, as it is now."""
        return self.find(self._ids[index])

    def find(self, episode: str) -> Flagged:
        """Return the episode whose id begins so; AnnotationError for none or several."""
        e, f, i = EPISODES.c, FINDINGS.c, INTERVENTIONS.c
        with self._engine.begin() as connection:
            query = select(EPISODES).where(e.id.startswith(episode, autoescape=True)).limit(2)
            rows = connection.execute(query).all()
            if len(rows) != 1:
                found = 'several' if rows else 'none'
                raise AnnotationError(f"expected one episode '{episode}', found {found}")
            row = rows[0]
            found_here = select(f.message).where(f.episode_id == row.id, f.severity != 'note')
            messages = connection.execute(found_here.order_by(f.position)).scalars().all()
            own = select(i.id, i.kind, i.reason).where(i.episode_id == row.id).order_by(i.begin_ns)
            interventions = tuple(tuple(entry) for entry in connection.execute(own))
        reasons = next((d.reasons for d in self._decide() if d.known.row.id == row.id), ())
        return Flagged(
            row.id, row.name, Path(row.path), row.grade, row.verdict, (*reasons, *messages),
            interventions,
        )

    def say(self, episode: str, what: What, value: Any) -> Annotation:
        """Add an annotation and let the catalog show it."""
        said = annotate(self._folder, episode, what, value, by=self.by)
        with writing(self._engine) as connection:
            take_annotations(connection, [self._folder])
        return said

    def undo(self, episode: str, annotation: str = '') -> Annotation:
        """Undo an annotation of an episode, the last one that was not undone where none is named.

        Raises AnnotationError where there is none.
        """
        history = self.history(episode)
        undone = {entry.value for entry in history if entry.what is What.UNDO}
        standing = [e for e in history if e.what is not What.UNDO and e.id not in undone]
        chosen = [e for e in standing if e.id.startswith(annotation)]
        if not chosen:
            raise AnnotationError(f"{episode[:12]}: expected an annotation '{annotation}' to undo")
        return self.say(episode, What.UNDO, chosen[-1].id)

    def history(self, episode: str) -> list[Annotation]:
        """Return all that was said of an episode, oldest first."""
        with self._engine.begin() as connection:
            return annotations_of(connection, episode)

    def _decide(self) -> list[Decision]:
        conditions = [EPISODES.c.task == self._task] if self._task else []
        with self._engine.begin() as connection:
            return decide(known_episodes(connection, conditions), self._rules)


def _open(decision: Decision) -> bool:
    """Tell whether nobody has judged what the rules or a finding flagged."""
    errors = decision.known.facts.get('errors') or 0
    return not decision.reviewed and (
        decision.verdict is Verdict.REVIEW or (isinstance(errors, (int, float)) and errors > 0)
    )

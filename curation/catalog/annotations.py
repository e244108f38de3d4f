# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What people say of episodes afterwards: lines that are added to a file, and never changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
import json
from pathlib import Path
from typing import Any

from blake3 import blake3

from curation.exceptions import AnnotationError
from curation.json_lines import append_line, read_lines
from curation.scores.rules import Verdict
from teleop_bridge.vocabulary import Grade, InterventionKind

FILE_NAME = 'annotations.jsonl'  # in the data folder, beside the bags


class What(str, Enum):
    """What a line tells of an episode, and what its value holds."""

    VERDICT = 'verdict'  # keep or drop, empty to leave it to the rules again
    GRADE = 'grade'      # one of Grade
    NOTE = 'note'        # a text
    REASON = 'reason'    # intervention, kind, reason
    SPAN = 'span'        # start_s, end_s, goal, step: a part of the task
    UNDO = 'undo'        # the id of an earlier annotation, which counts no longer


@dataclass(frozen=True)
class Annotation:
    """One line; ``at`` is UTC in ISO 8601, ``by`` a pseudonym, ``id`` the hash of the rest."""

    id: str
    episode_id: str
    at: str
    by: str
    what: What
    value: Any


@dataclass
class Reviewed:
    """What holds of one episode after all of its annotations, in their order."""

    verdict: str = ''
    grade: str | None = None
    notes: list[str] = field(default_factory=list)
    reasons: dict[str, tuple[str, str]] = field(default_factory=dict)  # by intervention
    spans: list[Mapping[str, Any]] = field(default_factory=list)


def annotate(
    folder: Path, episode_id: str, what: What, value: Any, *, by: str, at: str = ''
) -> Annotation:
    """Add a line to the folder's file and return it; AnnotationError where it says nothing valid.

    Several processes may add at once. A line that a crash tore is completed and left behind.
    """
    path = folder / FILE_NAME
    if not by:
        raise AnnotationError(f'{path}: expected who says it, found nobody (--by)')
    _check(what, value, str(path))
    at = at or datetime.now(timezone.utc).isoformat(timespec='microseconds')
    content = {'episode': episode_id, 'at': at, 'by': by, 'what': what.value, 'value': value}
    number = blake3(_line(content)).hexdigest()[:16]
    try:
        append_line(path, _line({'id': number, **content}))
    except OSError as error:
        raise AnnotationError(f'{path}: can not be added to ({error.strerror})') from error
    return Annotation(number, episode_id, at, by, what, value)


def read_annotations(path: Path) -> list[tuple[int, Annotation]]:
    """Return a file's annotations with their lines' numbers; none where there is no file.

    Raises AnnotationError for a line that is no annotation, but for one that a crash tore.
    """
    found = []
    for number, content in read_lines(path):
        try:
            annotation = Annotation(
                str(content['id']), str(content['episode']), str(content['at']),
                str(content['by']), What(content['what']), content['value'],
            )
        except (TypeError, KeyError, ValueError) as error:
            raise AnnotationError(
                f'{path} line {number}: expected an annotation, found {error!r}'
            ) from error
        _check(annotation.what, annotation.value, f'{path} line {number}')
        found.append((number, annotation))
    return found


def replay(annotations: Iterable[Annotation]) -> dict[str, Reviewed]:
    """Return what holds of each episode, in the order in which people said it."""
    ordered = list(annotations)
    undone: set[str] = set()
    for entry in reversed(ordered):  # an undo can be undone by a later one
        if entry.what is What.UNDO and entry.id not in undone:
            undone.add(str(entry.value))
    states: dict[str, Reviewed] = {}
    for entry in ordered:
        state = states.setdefault(entry.episode_id, Reviewed())
        if entry.id in undone or entry.what is What.UNDO:
            continue
        if entry.what is What.VERDICT:
            state.verdict = entry.value
        elif entry.what is What.GRADE:
            state.grade = entry.value
        elif entry.what is What.NOTE:
            state.notes.append(entry.value)
        elif entry.what is What.REASON:
            named = entry.value
            state.reasons[named['intervention']] = named['kind'], named['reason']
        else:
            state.spans.append(entry.value)
    return states


def span_of(parts: list[str]) -> dict[str, Any]:
    """Read a span such as ``0 2.5 grasp approach``; AnnotationError where it is none."""
    try:
        start_s, end_s, goal, *step = parts
        span: dict[str, Any] = {'start_s': float(start_s), 'end_s': float(end_s), 'goal': goal}
    except ValueError:
        raise AnnotationError(f'span: expected START_S END_S GOAL [STEP], found {parts}') from None
    return {**span, 'step': ' '.join(step)}


def _check(what: What, value: Any, where: str) -> None:
    if what is What.VERDICT and value not in (Verdict.KEEP.value, Verdict.DROP.value, ''):
        raise AnnotationError(f"{where}: verdict: expected keep or drop, found '{value}'")
    if what is What.GRADE and value not in [grade.value for grade in Grade]:
        known = ', '.join(grade.value for grade in Grade)
        raise AnnotationError(f"{where}: grade: expected one of {known}, found '{value}'")
    if what in (What.NOTE, What.UNDO) and not (isinstance(value, str) and value):
        raise AnnotationError(f'{where}: {what.value}: expected a text, found {value!r}')
    if what is What.REASON:
        texts = [value.get(key) for key in ('intervention', 'kind', 'reason')]
        if not all(isinstance(text, str) and text for text in texts):
            raise AnnotationError(f'{where}: reason: expected intervention, kind and reason')
        if value['kind'] not in [kind.value for kind in InterventionKind]:
            known = ', '.join(kind.value for kind in InterventionKind)
            raise AnnotationError(
                f"{where}: kind: expected one of {known}, found '{value['kind']}'"
            )
    if what is What.SPAN:
        begin, end, goal = (value.get(key) for key in ('start_s', 'end_s', 'goal'))
        numbers = isinstance(begin, (int, float)) and isinstance(end, (int, float))
        if not (numbers and 0 <= begin < end and isinstance(goal, str) and goal):
            raise AnnotationError(f'{where}: span: expected 0 <= start_s < end_s and a goal')


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content).encode()

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A report as a folder of pages that open from disk: an index, and one page per episode.

Each page carries its style, script and data, so that one alone can be sent.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
import dataclasses
from functools import lru_cache
import gzip
import math
from pathlib import Path
import re
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from plotly.offline import get_plotlyjs

from curation.align.episode import Episode
from curation.checks.finding import Finding, Severity
from curation.export.staging import staged
from curation.replay.run import Replays
from curation.report.curves import curves, divergence
from curation.report.frames import key_frames
from curation.report.overview import (
    found_by_check,
    intervention_reasons,
    next_starts,
    people,
    places_in_sessions,
)
from curation.scores.proposal import agreement
from curation.scores.score import Score, score_all
from curation.scores.verdict import judge, Judgement
from teleop_bridge.rig.tasks import Tasks

Progress = Callable[[int, int], None]


def write_report(
    episodes: Sequence[Episode],
    out: Path,
    *,
    scores: Sequence[Score] | None = None,
    findings: Sequence[Finding] = (),
    tasks: Tasks | None = None,
    replays: Replays | None = None,
    progress: Progress | None = None,
) -> Path:
    """Write a report on episodes, in the order in which they were recorded; return its index.

    ``findings`` are those of the checks, each of the episode that it names; ``tasks`` say where
    objects may lie, so that the map can show what to collect next; ``replays`` are a checkpoint's,
    of the same episodes in the same order, to be drawn beside them.
    ``progress`` is told the number of pages done and their total. Raises ExportError where the
    folder exists or can't be written; then nothing is left of it.
    """
    scores = score_all(episodes) if scores is None else scores
    judgements = [judge(score, scores) for score in scores]
    places = places_in_sessions(scores)
    rows = [
        {
            **_row(number, score, judgement, places[number]),
            'errors': _count(findings, score.name, Severity.ERROR),
            'warnings': _count(findings, score.name, Severity.WARNING),
        }
        for number, (score, judgement) in enumerate(zip(scores, judgements, strict=True))
    ]
    with staged(out) as folder:
        (folder / 'episodes').mkdir()
        for number, (episode, score, row) in enumerate(zip(episodes, scores, rows, strict=True)):
            own = [finding for finding in findings if finding.episode == episode.name]
            page = _render(
                'episode.html',
                **_episode(episode, score, row, own),
                replay=_replay(replays, number) if replays else None,
            )
            (folder / row['page']).write_text(page, encoding='utf-8')
            if progress:
                progress(number + 1, len(episodes))
        content = {
            **_index(scores, rows),
            'reasons': intervention_reasons(episodes, rows),
            'checks': found_by_check(findings, rows),
            'people': people(scores),
            'next': next_starts(episodes, scores, tasks),
            'agreement': agreement(scores),
            'replay': _replayed(replays, rows) if replays else None,
        }
        index = _render('index.html', **content)
        (folder / 'index.html').write_text(index, encoding='utf-8')
    return out / 'index.html'


def _row(number: int, score: Score, judgement: Judgement, place: int) -> dict[str, Any]:
    """Return what tables and plots show of one episode."""
    initial = [float(value) for value in score.initial[:2]]
    return {
        'number': number + 1,
        'page': f'episodes/{number + 1:04d}_{_file_name(score.name)}.html',
        'name': score.name,
        'id': score.episode_id,
        'task': score.task,
        'location': score.location,
        'operator': score.operator_id,
        'session': score.session_id,
        'place': place,
        'grade': score.grade or 'ungraded',
        'verdict': judgement.verdict.value,
        'reasons': list(judgement.reasons),
        'sentences': list(judgement.sentences),
        'duration': _known(score.duration_s, 2),
        'ratio': _known(score.duration_ratio, 3),
        'smoothness': _known(score.smoothness.ranking, 3),
        'gain': _known(score.coverage_gain, 4),
        'basis': score.coverage_basis,
        'initial': initial,
        'grasps': score.grasps,
        'interventions': score.interventions,
        'staleness': _known(1000 * score.worst_staleness_s, 1),
        'stalest': score.worst_staleness_stream,
    }


def _episode(
    episode: Episode, score: Score, row: dict[str, Any], findings: list[Finding]
) -> dict[str, Any]:
    zero = int(episode.grid_ns[0])
    return {
        'row': row,
        'score': score,
        'facts': {**episode.facts.session, **episode.facts.episode},
        'rig': episode.rig.name,
        'cameras': {camera: key_frames(episode, camera) for camera in episode.cameras},
        'interventions': [
            {**dataclasses.asdict(entry), 'start_s': (entry.begin_ns - zero) / 1e9}
            for entry in episode.interventions
        ],
        'findings': sorted(findings, key=lambda finding: list(Severity).index(finding.severity)),
        'problems': [problem.text for problem in episode.problems],
        'curves': curves(episode),
    }


def _replay(replays: Replays, number: int) -> dict[str, Any]:
    one = replays.episodes[number]
    where = replays.diverges_at(one)
    return {
        'checkpoint': replays.checkpoint,
        'threshold': replays.threshold,
        'where': where.name if where else '',
        'curves': divergence(replays, one),
        'takeovers': [t for t in replays.takeovers if t.episode == one.episode.name],
    }


def _replayed(replays: Replays, rows: list[dict[str, Any]]) -> dict[str, Any]:
    row_of = {id(one): row for one, row in zip(replays.episodes, rows, strict=True)}
    return {
        'checkpoint': replays.checkpoint,
        'sentences': replays.sentences(),
        'places': {
            name: [row_of[id(one)] for one in found]
            for name, found in replays.by_phase().items()
        },
    }


def _index(scores: Sequence[Score], rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        'rows': rows,
        'hours': sum(score.duration_s for score in scores) / 3600,
        'tasks': sorted({score.task for score in scores}),
        'operators': sorted({score.operator_id for score in scores}),
        'verdicts': {
            verdict: sum(row['verdict'] == verdict for row in rows)
            for verdict in ('keep', 'review', 'drop')
        },
        'interventions': sum(score.interventions for score in scores),
    }


def _count(findings: Sequence[Finding], episode: str, severity: Severity) -> int:
    return sum(f.episode == episode and f.severity is severity for f in findings)


def _file_name(name: str) -> str:
    """Return a name that is safe in every file system and URL; the number keeps it unique."""
    return re.sub(r'[^A-Za-z0-9_-]+', '_', name)[:80]


def _known(value: float, digits: int) -> float | None:
    return round(value, digits) if math.isfinite(value) else None


def _render(template: str, **values: Any) -> str:
    environment = _environment()
    return environment.get_template(template).render(**values)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader('curation.report', '.'),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals['plotly'] = _plotly()
    return environment


def _plotly() -> str:
    """Return Plotly's script, packed: 4.8 MB in every page would be most of a report."""
    return base64.b64encode(gzip.compress(get_plotlyjs().encode('utf-8'), mtime=0)).decode('ascii')

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the catalog keeps of one bag, read from the bag alone."""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from pathlib import Path
from typing import Any

from blake3 import blake3
import numpy as np

from curation.align.align import align
from curation.align.episode import Episode
from curation.align.extract import extract
from curation.align.load import rig_of
from curation.align.options import AlignOptions, OnGap
from curation.bag.reader import BagReader, open_bag
from curation.checks.run import check_recordings
from curation.scores.copies import outline
from curation.scores.score import measure, Score
from teleop_bridge.rig.schema import Rig

Row = dict[str, Any]

SOURCES = ('teleoperation', 'deployment', 'handheld', 'egocentric', 'simulation')


@dataclass(frozen=True)
class Record:
    """Rows by table name, of one episode."""

    episode_id: str
    tables: dict[str, list[Row]] = field(default_factory=dict)


def read_record(path: Path, rig: Rig | None = None, source: str = '') -> Record:
    """Read, align, check (without images) and measure a bag; FlywheelError as these raise it."""
    with open_bag(path) as bag:
        recording = extract(bag, rig or rig_of(bag))
        episode = align(recording, AlignOptions(on_gap=OnGap.MASK))[0]
        findings = list(check_recordings([recording], images=False))
        streams = [
            {'topic': topic.name, 'type': topic.type, 'messages': topic.count or 0}
            for topic in bag.topics.values()
        ]
        record = _facts(bag, episode, size_of(path), source)
    owned = {
        'streams': streams,
        'interventions': [_intervention(entry) for entry in episode.interventions],
        'scores': [{**_score(measure(episode)), 'outline': outline(episode.state).tobytes()}],
        'findings': [
            {
                'position': position,
                'check': finding.check,
                'severity': finding.severity.value,
                'stream': finding.stream,
                'start_ns': finding.start_ns,
                'end_ns': finding.end_ns,
                'message': finding.message,
                'advice': finding.advice,
            }
            for position, finding in enumerate(findings)
        ],
    }
    for name, rows in owned.items():
        record.tables[name] = [{'episode_id': episode.id, **row} for row in rows]
    return record


def size_of(path: Path) -> int:
    """Return the bytes of a bag's files."""
    files = [path] if path.is_file() else [entry for entry in path.rglob('*') if entry.is_file()]
    return sum(entry.stat().st_size for entry in files)


def _facts(bag: BagReader, episode: Episode, size: int, source: str) -> Record:
    session, ending = episode.facts.session, episode.facts.episode
    rig_text = episode.rig.text
    rig_id = blake3(rig_text.encode()).hexdigest()
    session_id = episode.facts.session_id or f'unknown:{episode.id}'
    operator, checkpoint = episode.facts.operator_id, str(session.get('policy_checkpoint', ''))
    extra = session.get('extra') or {}
    known = 'simulation' if 'headless' in extra else 'teleoperation'
    return Record(
        episode.id,
        {
            'operators': [{'id': operator}],
            'tasks': [{'name': episode.facts.task, 'text': episode.facts.task_text}],
            'rigs': [
                {
                    'id': rig_id,
                    'name': episode.rig.name,
                    'text': rig_text,
                    'tasks': bag.custom_data.get('tasks', ''),
                }
            ],
            'policies': [{'checkpoint': checkpoint}],
            'sessions': [
                {
                    'id': session_id,
                    'kind': str(session.get('kind', 'collection')),
                    'operator_id': operator,
                    'software_version': str(session.get('software_version', '')),
                }
            ],
            'episodes': [
                {
                    'id': episode.id,
                    'name': episode.name,
                    'path': str(Path(episode.path).absolute()),
                    'source': source or str(extra.get('source', known)),
                    'session_id': session_id,
                    'operator_id': operator,
                    'task': episode.facts.task,
                    'rig_id': rig_id,
                    'checkpoint': checkpoint,
                    'location': episode.facts.location,
                    'episode_index': int(session.get('episode_index', 0)),
                    'grade': episode.facts.grade,
                    'recorded_grade': episode.facts.grade,
                    'verdict': '',
                    'end_reason': str(ending.get('end_reason', '')),
                    'note': str(ending.get('note', '')),
                    'start_ns': int(episode.grid_ns[0]),
                    'end_ns': int(episode.grid_ns[-1]),
                    'bytes': size,
                }
            ],
        },
    )


def _intervention(entry: Any) -> Row:
    names = ('id', 'begin_ns', 'converged_ns', 'end_ns', 'trigger', 'kind', 'reason')
    row = {name: getattr(entry, name) for name in (*names, 'operator_id')}
    return {**row, 'recorded_kind': entry.kind, 'recorded_reason': entry.reason}


def _score(score: Score) -> Row:
    smoothness = score.smoothness
    return {
        'duration_s': score.duration_s,
        'smoothness': _known(smoothness.ranking),
        'sparc': _known(smoothness.sparc),
        'log_dimensionless_jerk': _known(smoothness.log_dimensionless_jerk),
        'integrated_squared_jerk': _known(smoothness.integrated_squared_jerk),
        'movements': smoothness.movements,
        'grasps': score.grasps,
        'idle_share': _known(score.idle_share),
        'human_share': _known(score.human_share),
        'worst_staleness_s': _known(score.worst_staleness_s),
        'worst_staleness_stream': score.worst_staleness_stream,
        'masked': score.masked,
        'problems': score.problems,
        'coverage_basis': score.coverage_basis,
        'initial': np.asarray(score.initial, '<f8').tobytes(),
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None

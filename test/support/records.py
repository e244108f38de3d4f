# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Rows of episodes that never were, for what comes after ingest."""

from __future__ import annotations

from typing import Any

from blake3 import blake3
import numpy as np

from curation.catalog.record import Record
from curation.scores.copies import POINTS
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.resources import data_file

DAY_NS = 86_400 * NANOSECONDS
EPOCH_NS = 1_767_225_600 * NANOSECONDS
RIG = data_file('config/rigs/so101_sim.yaml').read_text()
TASKS = data_file('config/tasks/pick_place.yaml').read_text()


def make_record(
    number: int,
    *,
    task: str = 'pick_place',
    operator: str = 'op1',
    session: str = '',
    kind: str = 'collection',
    checkpoint: str = '',
    grade: str = 'success_first_try',
    day: float = 0.0,
    seconds: float = 10.0,
    xy: tuple[float, float] = (0.2, 0.0),
    smoothness: float = -5.0,
    location: str = 'near_centre',
    reasons: tuple[tuple[str, str], ...] = (),
    finding: str = '',
    outline: float | None = None,
    **fields: Any,
) -> Record:
    """Return the rows of one episode; ``reasons`` are (kind, reason) of its interventions."""
    outline = number if outline is None else outline
    episode_id = blake3(str(number).encode()).hexdigest()
    session = session or f's_{operator}_{int(day)}'
    start_ns = EPOCH_NS + round(day * DAY_NS) + (number % 10_000) * NANOSECONDS
    rig_id = blake3(RIG.encode()).hexdigest()
    owned = {'episode_id': episode_id}
    return Record(
        episode_id,
        {
            'operators': [{'id': operator}],
            'tasks': [{'name': task, 'text': task}],
            'rigs': [{'id': rig_id, 'name': 'so101_sim', 'text': RIG, 'tasks': TASKS}],
            'policies': [{'checkpoint': checkpoint}],
            'sessions': [
                {'id': session, 'kind': kind, 'operator_id': operator, 'software_version': '1'}
            ],
            'episodes': [
                {
                    'id': episode_id,
                    'name': f'e{number}',
                    'path': f'/data/e{number}',
                    'source': 'deployment' if checkpoint else 'teleoperation',
                    'session_id': session,
                    'operator_id': operator,
                    'task': task,
                    'rig_id': rig_id,
                    'checkpoint': checkpoint,
                    'location': location,
                    'episode_index': number,
                    'grade': grade,
                    'recorded_grade': grade,
                    'verdict': '',
                    'end_reason': 'graded',
                    'note': '',
                    'start_ns': start_ns,
                    'end_ns': start_ns + round(seconds * NANOSECONDS),
                    'bytes': 1_000_000,
                    **fields,
                }
            ],
            'streams': [{**owned, 'topic': '/s', 'type': 'x', 'messages': 10}],
            'interventions': [
                {
                    **owned,
                    'id': f'i{index}',
                    'begin_ns': start_ns + NANOSECONDS,
                    'converged_ns': None,
                    'end_ns': start_ns + 2 * NANOSECONDS,
                    'trigger': 'button',
                    'kind': kind_of,
                    'reason': reason,
                    'operator_id': operator,
                    'recorded_kind': kind_of,
                    'recorded_reason': reason,
                }
                for index, (kind_of, reason) in enumerate(reasons)
            ],
            'scores': [
                {
                    **owned,
                    'duration_s': seconds,
                    'smoothness': smoothness,
                    'sparc': -1.5,
                    'log_dimensionless_jerk': -9.0,
                    'integrated_squared_jerk': 3.0,
                    'movements': 4,
                    'grasps': 1,
                    'idle_share': 0.1,
                    'human_share': 1.0,
                    'worst_staleness_s': 0.01,
                    'worst_staleness_stream': 'front',
                    'masked': 0,
                    'problems': 0,
                    'coverage_basis': 'object position (cube)',
                    'initial': np.array([*xy, 0.0], '<f8').tobytes(),
                    'outline': (np.zeros((POINTS, 6), '<f4') + outline).tobytes(),
                }
            ],
            'findings': [
                {
                    **owned,
                    'position': 0,
                    'check': finding,
                    'severity': 'error',
                    'stream': 'front',
                    'start_ns': start_ns,
                    'end_ns': start_ns,
                    'message': f'{finding} was found',
                    'advice': 'look',
                }
            ]
            if finding
            else [],
        },
    )

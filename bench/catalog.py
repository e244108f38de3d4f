# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A catalog of a million episodes: writing them, every question, coverage; beside plain SQL.

The same rows go into a plain SQLite file by executemany, and the questions that one statement can
answer are asked there too; coverage is also computed by plain NumPy. ``--url`` uses PostgreSQL.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
import resource
import sqlite3
import tempfile
import time
from typing import Any

from blake3 import blake3
import numpy as np

from curation.catalog.database import open_catalog, writing
from curation.catalog.ingest import write_records
from curation.catalog.questions import ask, Asked, QUESTIONS
from curation.catalog.record import Record
from curation.scores.copies import POINTS
from curation.scores.coverage import added_gains, farthest_point_order
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.resources import data_file
from teleop_bridge.vocabulary import Grade

_BATCH = 1000
_SESSION = 40  # episodes
_DAY_NS = 86_400 * NANOSECONDS
_CHECKS = ('gap', 'jitter', 'blur', 'clipped_joint')
_GRADES = [grade.value for grade in Grade]
RIG, TASKS = (
    data_file(name).read_text()
    for name in ('config/rigs/so101_sim.yaml', 'config/tasks/pick_place.yaml')
)
PLAIN = {
    'episodes': 'SELECT task, location, grade, count(*) FROM e GROUP BY 1, 2, 3',
    'collectors': 'SELECT operator, task, count(*), sum(seconds) FROM e GROUP BY 1, 2',
    'sizes': 'SELECT source, task, count(*), sum(seconds), sum(bytes) FROM e GROUP BY 1, 2',
    'failures': "SELECT task, grade, count(*) FROM e WHERE grade = 'failure' GROUP BY 1, 2",
    'success': 'SELECT checkpoint, task, location, count(*), avg(grade < 4) FROM e'
    " WHERE kind = 'evaluation' GROUP BY 1, 2, 3",
}


def records(count: int, seed: int = 0) -> Iterator[list[Record]]:
    """Yield batches of episodes: 4 tasks, 30 operators, a tenth driven by policies."""
    rng = np.random.default_rng(seed)
    rig_id = blake3(RIG.encode()).hexdigest()
    for begin in range(0, count, _BATCH):
        size = min(_BATCH, count - begin)
        xy = rng.uniform((0.12, -0.18), (0.25, 0.06), (size, 2))
        ways = np.cumsum(rng.normal(0, 0.1, (size, POINTS, 6)), axis=1).astype('<f4')
        luck, seconds = rng.random(size), rng.lognormal(2.5, 0.3, size)
        batch = []
        for k in range(size):
            n = begin + k
            session = n // _SESSION
            driven = session % 10 == 0
            evaluated = session % 40 == 0
            key = {'episode_id': blake3(n.to_bytes(8, 'little')).hexdigest()}
            start_ns = 1_767_225_600 * NANOSECONDS + session % 400 * _DAY_NS + n * 1000
            operator, task = f'op{session % 30}', f'task{session % 4}'
            checkpoint = f'checkpoint{session // 10 % 20}' if driven else ''
            tables: dict[str, list[dict[str, Any]]] = {
                'operators': [{'id': operator}],
                'tasks': [{'name': task, 'text': task}],
                'rigs': [{'id': rig_id, 'name': 'so101', 'text': RIG, 'tasks': TASKS}],
                'policies': [{'checkpoint': checkpoint}],
                'sessions': [{
                    'id': f's{session}', 'kind': 'evaluation' if evaluated else 'collection',
                    'operator_id': operator, 'software_version': '1',
                }],
                'episodes': [{
                    'id': key['episode_id'], 'name': f'e{n}', 'path': f'/data/s{session}/e{n}',
                    'source': 'deployment' if driven else 'teleoperation',
                    'session_id': f's{session}', 'operator_id': operator, 'task': task,
                    'rig_id': rig_id, 'checkpoint': checkpoint, 'location': f'place{n % 12}',
                    'episode_index': n % _SESSION, 'grade': _GRADES[int(luck[k] ** 2 * 4)],
                    'recorded_grade': '', 'verdict': '', 'end_reason': 'graded', 'note': '',
                    'start_ns': start_ns, 'end_ns': start_ns + round(seconds[k] * NANOSECONDS),
                    'bytes': 20_000_000,
                }],
                'streams': [{**key, 'topic': '/joint_states', 'type': 'x', 'messages': 1000}],
                'scores': [{
                    **key, 'duration_s': seconds[k], 'smoothness': -7 - luck[k], 'sparc': -4.0,
                    'log_dimensionless_jerk': -9.0, 'integrated_squared_jerk': 3.0,
                    'movements': 4, 'grasps': 1, 'idle_share': 0.1, 'human_share': 1.0,
                    'worst_staleness_s': 0.01, 'worst_staleness_stream': 'front', 'masked': 0,
                    'problems': 0, 'coverage_basis': 'object position (cube)',
                    'initial': np.array([*xy[k], 0.0]).tobytes(), 'outline': ways[k].tobytes(),
                }],
                'interventions': [{
                    **key, 'id': 'i', 'begin_ns': start_ns, 'converged_ns': None, 'end_ns': None,
                    'trigger': 'button', 'kind': 'goal', 'reason': f'reason {n % 3}',
                    'operator_id': operator, 'recorded_kind': '', 'recorded_reason': '',
                }] if driven and luck[k] < 0.3 else [],
                'findings': [{
                    **key, 'position': 0, 'check': _CHECKS[n % 4], 'severity': 'warning',
                    'stream': 'front', 'start_ns': start_ns, 'end_ns': start_ns,
                    'message': 'found', 'advice': 'look',
                }] if luck[k] > 0.98 else [],
            }  # fmt: skip
            batch.append(Record(key['episode_id'], tables))
        yield batch


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--episodes', type=int, default=1_000_000)
    parser.add_argument('--url', default='', help='of an empty PostgreSQL database (SQLite)')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine = open_catalog(arguments.url or folder)
        plain = sqlite3.connect(folder / 'plain.sqlite')
        plain.execute(
            'CREATE TABLE e (id TEXT PRIMARY KEY, task, operator, location, grade, source, kind,'
            ' checkpoint, seconds REAL, bytes INT, initial BLOB, outline BLOB)')
        ours = theirs = 0.0
        for batch in records(arguments.episodes):
            ours += timed(lambda batch=batch: _write(engine, batch))[0]
            theirs += timed(lambda batch=batch: _insert(plain, batch))[0]
        count = arguments.episodes
        print(f'{count:,} episodes')
        print(f'written        {count / ours:8.0f}/s; plain, one table: {count / theirs:8.0f}/s,'
              f' {ours / theirs:.1f} times as long')
        for question in QUESTIONS:
            def answered(question: str = question) -> int:
                with engine.begin() as connection:
                    return len(ask(connection, question, Asked()).rows)

            took, rows = timed(answered)
            line = f'ask {question:14} {took:8.2f} s  {rows:7} rows'
            if statement := PLAIN.get(question):
                alone, _ = timed(lambda s=statement: plain.execute(s).fetchall())
                line += f'  plain SQL {alone:6.2f} s, {took / alone:4.1f} times as long'
            print(line, flush=True)
        _coverage(count)
    print(f'most memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB')


def _coverage(count: int) -> None:
    """Compare what 100 new episodes add, by trees and by comparing with all."""
    rng = np.random.default_rng(1)
    known, new = rng.uniform(size=(count, 3)), rng.uniform(size=(100, 3))

    def by_numpy() -> np.ndarray:
        whole = np.concatenate([known, new])
        return np.array([
            np.sqrt(np.min(np.sum((whole[:count + k] - new[k]) ** 2, axis=1)))
            for k in range(len(new))
        ])

    ours, found = timed(lambda: added_gains(known, new))
    theirs, expected = timed(by_numpy)
    assert np.allclose(found, expected)
    print(f'coverage of 100 new beside {count:,}: {ours:.2f} s; NumPy {theirs:.2f} s,'
          f' {theirs / ours:.1f} times as long')
    points = rng.normal(size=(50_000, 14))
    took, _ = timed(lambda: farthest_point_order(points, 1000))
    print(f'farthest points, 1000 of 50,000 x 14: {took:.2f} s')


def _write(engine: Any, batch: list[Record]) -> None:
    with writing(engine) as connection:
        write_records(connection, batch)


def _insert(plain: sqlite3.Connection, batch: list[Record]) -> None:
    rows = []
    for record in batch:
        e, s = record.tables['episodes'][0], record.tables['scores'][0]
        rows.append((
            e['id'], e['task'], e['operator_id'], e['location'], e['grade'], e['source'],
            record.tables['sessions'][0]['kind'], e['checkpoint'], s['duration_s'], e['bytes'],
            s['initial'], s['outline'],
        ))
    with plain:
        plain.executemany(f'INSERT INTO e VALUES ({", ".join("?" * 12)})', rows)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long it took, s, and what came of it."""
    begin = time.perf_counter()
    found = work()
    return time.perf_counter() - begin, found


if __name__ == '__main__':
    main()

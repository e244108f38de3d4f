# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The catalog's tables; every row can be rebuilt from bags and the small files beside them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

METADATA = MetaData(
    naming_convention={
        'pk': 'pk_%(table_name)s',
        'fk': 'fk_%(table_name)s_%(column_0_name)s',
        'ix': 'ix_%(table_name)s_%(column_0_name)s',
    }
)


def _key(target: str) -> ForeignKey:
    return ForeignKey(target, ondelete='CASCADE')


OPERATORS = Table('operators', METADATA, Column('id', Text, primary_key=True))

TASKS = Table(
    'tasks',
    METADATA,
    Column('name', Text, primary_key=True),
    Column('text', Text, nullable=False),
)

RIGS = Table(
    'rigs',
    METADATA,
    Column('id', Text, primary_key=True),  # BLAKE3 of its file: calibration and all
    Column('name', Text, nullable=False),
    Column('text', Text, nullable=False),
    Column('tasks', Text, nullable=False),  # the tasks file that went with it
)

POLICIES = Table('policies', METADATA, Column('checkpoint', Text, primary_key=True))

SESSIONS = Table(
    'sessions',
    METADATA,
    Column('id', Text, primary_key=True),
    Column('kind', Text, nullable=False),
    Column('operator_id', Text, _key('operators.id'), nullable=False),
    Column('software_version', Text, nullable=False),
)

EPISODES = Table(
    'episodes',
    METADATA,
    Column('id', Text, primary_key=True),  # content id
    Column('name', Text, nullable=False),
    Column('path', Text, nullable=False),
    Column('source', Text, nullable=False),
    Column('session_id', Text, _key('sessions.id'), nullable=False),
    Column('operator_id', Text, _key('operators.id'), nullable=False),
    Column('task', Text, _key('tasks.name'), nullable=False),
    Column('rig_id', Text, _key('rigs.id'), nullable=False),
    Column('checkpoint', Text, _key('policies.checkpoint'), nullable=False),
    Column('location', Text, nullable=False),
    Column('episode_index', Integer, nullable=False),
    Column('grade', Text, nullable=False),  # after annotations
    Column('recorded_grade', Text, nullable=False, server_default=''),
    Column('verdict', Text, nullable=False, server_default=''),  # of a person, empty without one
    Column('end_reason', Text, nullable=False),
    Column('note', Text, nullable=False),
    Column('start_ns', BigInteger, nullable=False),
    Column('end_ns', BigInteger, nullable=False),
    Column('bytes', BigInteger, nullable=False),
    Index('ix_episodes_task', 'task', 'start_ns'),
    Index('ix_episodes_session_id', 'session_id'),
    Index('ix_episodes_checkpoint', 'checkpoint', 'start_ns'),
)

STREAMS = Table(
    'streams',
    METADATA,
    Column('episode_id', Text, _key('episodes.id'), primary_key=True),
    Column('topic', Text, primary_key=True),
    Column('type', Text, nullable=False),
    Column('messages', BigInteger, nullable=False),
)

INTERVENTIONS = Table(
    'interventions',
    METADATA,
    Column('episode_id', Text, _key('episodes.id'), primary_key=True),
    Column('id', Text, primary_key=True),
    Column('begin_ns', BigInteger, nullable=False),
    Column('converged_ns', BigInteger),
    Column('end_ns', BigInteger),
    Column('trigger', Text, nullable=False),
    Column('kind', Text, nullable=False),
    Column('reason', Text, nullable=False),
    Column('operator_id', Text, nullable=False),
    Column('recorded_kind', Text, nullable=False, server_default=''),  # before annotations
    Column('recorded_reason', Text, nullable=False, server_default=''),
)

SCORES = Table(
    'scores',
    METADATA,
    Column('episode_id', Text, _key('episodes.id'), primary_key=True),
    Column('duration_s', Float, nullable=False),
    Column('smoothness', Float),  # the measure that ranks
    Column('sparc', Float),
    Column('log_dimensionless_jerk', Float),
    Column('integrated_squared_jerk', Float),
    Column('movements', Integer, nullable=False),
    Column('grasps', Integer),
    Column('idle_share', Float),
    Column('human_share', Float),
    Column('worst_staleness_s', Float),
    Column('worst_staleness_stream', Text, nullable=False),
    Column('masked', Integer, nullable=False),
    Column('problems', Integer, nullable=False),
    Column('coverage_basis', Text, nullable=False),
    Column('initial', LargeBinary, nullable=False),  # little-endian float64
    Column('outline', LargeBinary, nullable=False, server_default=''),  # and float32
)

FINDINGS = Table(
    'findings',
    METADATA,
    Column('episode_id', Text, _key('episodes.id'), primary_key=True),
    Column('position', Integer, primary_key=True),
    Column('check', Text, nullable=False),
    Column('severity', Text, nullable=False),
    Column('stream', Text, nullable=False),
    Column('start_ns', BigInteger, nullable=False),
    Column('end_ns', BigInteger, nullable=False),
    Column('message', Text, nullable=False),
    Column('advice', Text, nullable=False),
    Index('ix_findings_check', 'check'),
)

FILES = Table(  # what was read already, or can't be
    'files',
    METADATA,
    Column('path', Text, primary_key=True),
    Column('bytes', BigInteger, nullable=False),
    Column('changed_ns', BigInteger, nullable=False),
    Column('episode_id', Text, nullable=False, index=True),
    Column('error', Text, nullable=False),
)

MANIFESTS = Table(
    'manifests',
    METADATA,
    Column('hash', Text, primary_key=True),
    Column('name', Text, nullable=False),
    Column('path', Text, nullable=False),
)

MANIFEST_EPISODES = Table(
    'manifest_episodes',
    METADATA,
    Column('manifest', Text, _key('manifests.hash'), primary_key=True),
    Column('position', Integer, primary_key=True),
    Column('episode_id', Text, nullable=False, index=True),
    Column('split', Text, nullable=False),
    Column('weight', Float, nullable=False),
)

MODELS = Table(
    'models',
    METADATA,
    Column('checkpoint', Text, primary_key=True),  # SHA-256 of its file, as bags name it
    Column('manifest', Text, primary_key=True),
    Column('file', Text, nullable=False),
    Column('metrics', Text, nullable=False),  # JSON
)

ANNOTATIONS = Table(
    'annotations',
    METADATA,
    Column('id', Text, primary_key=True),
    Column('file', Text, nullable=False),
    Column('position', BigInteger, nullable=False),  # line of the file
    Column('episode_id', Text, nullable=False, index=True),
    Column('at', Text, nullable=False),
    Column('by', Text, nullable=False),
    Column('what', Text, nullable=False),
    Column('value', Text, nullable=False),  # JSON
)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Aligned episodes made of formulas, for what comes after alignment."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode, Facts, Intervention, Signal, Track
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.loader import parse_rig

RIG = parse_rig(
    """
rig: bench
robot_type: so101
joints: {pan: {}, lift: {}, grip: {kind: gripper}}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}
  sent: {topic: follower/command, type: sensor_msgs/msg/JointState, role: action, max_age_ms: 50}
  front: {topic: camera/front/image_raw, type: sensor_msgs/msg/Image, role: camera, max_age_ms: 90}
cameras:
  front: {image: front, width: 64, height: 48}
""",
    'bench.yaml',
)
RATE = Fraction(30)
START_NS = 1_700_000_000_000_000_000


def make_episode(
    *,
    name: str = 'episode',
    seed: int = 0,
    seconds: float = 5.0,
    grade: str = 'success_first_try',
    operator_id: str = 'op_1',
    note: str = '',
    kind: str = 'goal',
    reason: str = 'wrong grasp',
) -> Episode:
    """Return an episode of two swinging joints and one grasp, corrected from second 1 to 2."""
    m = round(seconds * float(RATE)) + 1
    times = np.arange(m) / float(RATE)
    grid = START_NS + np.round(times * NANOSECONDS).astype(np.int64)
    offset = np.random.default_rng(seed).uniform(-0.5, 0.5, 2)
    swing = np.stack([np.sin(2 * times), np.cos(2 * times)], axis=1) + offset
    grip = np.where((times > 0.3 * seconds) & (times < 0.8 * seconds), 0.2, 1.0)
    state = np.column_stack([swing, grip])
    during = (times >= 1.0) & (times < 2.0)
    tracks = {stream.name: _track(stream.name, grid) for stream in RIG.streams}
    return Episode(
        id=f'{seed:064x}',
        name=name,
        path=f'/nowhere/{name}',
        rig=RIG,
        facts=Facts(
            session={'task': 'pick_place', 'operator_id': operator_id, 'session_id': 's1'},
            episode={'grade': grade, 'note': note},
        ),
        grid_ns=grid,
        state=state,
        action=state + 0.01,
        human=np.where(during[:, None], state, np.nan),
        policy=state - 0.1,
        authority=during.astype(np.float64),
        intervention_id=tuple('i1' if inside else '' for inside in during),
        interventions=(
            Intervention(
                'i1',
                START_NS + NANOSECONDS,
                converged_ns=START_NS + 1_200_000_000,
                end_ns=START_NS + 2 * NANOSECONDS,
                trigger='button',
                kind=kind,
                reason=reason,
                note=note,
                operator_id=operator_id,
            ),
        ),
        tracks=tracks,
        signals={'state': _signal(state)},
        valid=np.ones(m, np.bool_),
        action_lag_ns=np.zeros(m, np.int64),
        period_ns=NANOSECONDS / float(RATE),
        frames={'front': _frame},
    )


def _track(name: str, grid: NDArray[np.int64]) -> Track:
    stale = np.full(len(grid), 3_000_000, np.int64)
    return Track(
        RIG.stream(name), np.arange(len(grid)), grid - stale, stale, np.ones(len(grid), np.bool_)
    )


def _signal(values: NDArray[np.float64]) -> Signal:
    return Signal(
        RIG.joint_names, values, np.zeros(values.shape, np.int64), np.ones(len(values), np.bool_)
    )


def _frame(index: int) -> NDArray[np.uint8]:
    """Return an image whose brightness tells which it is."""
    return np.full((48, 64, 3), index % 256, np.uint8)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Aligned episodes with a colour and a depth camera, every pixel and value a formula."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode, Facts, Intervention, Signal, Track
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.loader import parse_rig

RIG = parse_rig(
    """
rig: filmed
robot_type: so101
joints: {pan: {}, grip: {kind: gripper}}
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}
  sent: {topic: follower/command, type: sensor_msgs/msg/JointState, role: action, max_age_ms: 50}
  human: {topic: leader/command, type: sensor_msgs/msg/JointState, role: human_proposal,
          max_age_ms: 50}
  policy: {topic: policy/command, type: sensor_msgs/msg/JointState, role: policy_proposal,
           max_age_ms: 50, required: false}
  wrench: {topic: wrist/wrench, type: geometry_msgs/msg/WrenchStamped, role: wrench,
           max_age_ms: 50}
  front: {topic: camera/front/image_raw, type: sensor_msgs/msg/Image, role: camera,
          max_age_ms: 90}
  front_depth: {topic: camera/front/depth/image_raw, type: sensor_msgs/msg/Image, role: depth,
                max_age_ms: 200}
cameras:
  front: {image: front, depth: front_depth, width: 64, height: 48}
""",
    'filmed.yaml',
)
START_NS = 1_700_000_000_000_000_000
STALENESS_NS = 5_000_000
HEIGHT, WIDTH = 48, 64
WRENCH = ('fx', 'fy', 'fz', 'tx', 'ty', 'tz')


def picture(i: int) -> NDArray[np.uint8]:
    """Return the ``i``th image: smooth ramps whose levels move with it, (48, 64, 3) RGB."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return np.stack(
        [20 + 2 * x + 2 * i, 40 + 3 * y, np.full_like(x, 60 + 4 * i)], axis=2
    ).clip(0, 255).astype(np.uint8)


def depth_ramp(k: int) -> NDArray[np.uint16]:
    """Return the ``k``th depth image, in mm: (48, 64), from 0.6 m on and 2 mm deeper each."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return (600 + 10 * x + 20 * y + 2 * k).astype(np.uint16)


def make_episode(name: str, *, seed: int = 0, length: int = 40, fps: int = 20) -> Episode:
    """Return ``length`` samples in which a person corrects a policy from sample 10 to 20.

    Depth is filmed at half the rate: two samples share each depth image.
    """
    frame = np.arange(length)
    grid = START_NS + frame * (NANOSECONDS // fps)
    phase = np.random.default_rng(seed).uniform(0, np.pi)
    state = np.column_stack([np.sin(frame / fps + phase), np.cos(frame / fps)])
    during = (frame >= 10) & (frame < 20)
    tracks = {stream.name: _track(stream.name, grid, frame) for stream in RIG.streams}
    tracks['front_depth'] = _track('front_depth', grid, frame // 2)
    names = RIG.joint_names
    return Episode(
        id=f'{seed:064x}',
        name=name,
        path=f'/nowhere/{name}',
        rig=RIG,
        facts=Facts(
            session={'task': 'pick', 'task_text': 'Pick it', 'operator_id': 'op_1',
                     'session_id': 's1', 'location': 'left'},
            episode={'grade': 'success_first_try'},
        ),
        grid_ns=grid,
        state=state,
        action=state + 0.01,
        human=np.where(during[:, None], state, np.nan),
        policy=state - 0.1,
        authority=during.astype(np.float64),
        intervention_id=tuple('i1' if inside else '' for inside in during),
        interventions=(
            Intervention('i1', int(grid[10]), end_ns=int(grid[19]), trigger='button', kind='goal',
                         reason='wrong grasp'),
        ),
        tracks=tracks,
        signals={
            'state': _signal(names, state),
            'wrench': _signal(WRENCH, np.outer(np.sin(frame / 7), np.arange(6.0))),
        },
        valid=np.ones(length, np.bool_),
        action_lag_ns=np.zeros(length, np.int64),
        period_ns=NANOSECONDS / fps,
        frames={'front': picture, 'front_depth': depth_ramp},
    )


def _track(name: str, grid: NDArray[np.int64], indices: NDArray[np.int64]) -> Track:
    stale = np.full(len(grid), STALENESS_NS, np.int64)
    return Track(RIG.stream(name), indices, grid - stale, stale, np.ones(len(grid), np.bool_))


def _signal(names: tuple[str, ...], values: NDArray[np.float64]) -> Signal:
    return Signal(
        names, values, np.zeros(values.shape, np.int64), np.ones(len(values), np.bool_))

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings of a small arm before a camera, by arithmetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from curation.align.episode import Facts
from curation.align.series import Recording, Series, Table
from curation.sources.table import content_id, joint_series
from support.faults import Rng
from teleop_bridge.rig.loader import parse_rig
from teleop_bridge.rig.schema import Rig
from teleop_bridge.vocabulary import Phase

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
SECONDS = 8.0
HEIGHT, WIDTH = 120, 160
LAG_S, CAMERA_LAG_S = 0.050, 0.030
RIG_TEXT = """
rig: rehearsal
joints:
  pan: {lower: -3, upper: 3}
  lift: {lower: -3, upper: 3}
  elbow: {lower: -3, upper: 3}
streams:
  state: {topic: /s, type: sensor_msgs/msg/JointState, role: state, rate_hz: 100, max_age_ms: 100}
  action: {topic: /a, type: sensor_msgs/msg/JointState, role: action, rate_hz: 100,
           max_age_ms: 100}
  front: {topic: /f, type: sensor_msgs/msg/Image, role: camera, rate_hz: 30, max_age_ms: 150}
  info: {topic: /i, type: sensor_msgs/msg/CameraInfo, role: camera_info, rate_hz: 30}
  wrench: {topic: /w, type: geometry_msgs/msg/WrenchStamped, role: wrench, rate_hz: 100,
           max_age_ms: 100}
  authority: {topic: /au, type: teleop_flywheel/msg/Authority, role: authority, rate_hz: 100,
              max_age_ms: 100}
  ik: {topic: /ik, type: std_msgs/msg/Bool, role: ik_validity, rate_hz: 100, max_age_ms: 100,
       required: false}
cameras: {front: {image: front, info: info}}
"""


def rig() -> Rig:
    return parse_rig(RIG_TEXT)


def recording(seed: int) -> Recording:
    """Return one clean episode: the arm makes reaches of its own seed past a fixed background."""
    rng = np.random.default_rng(seed)
    move = _Motion(rng)
    start = START_NS + seed * 60_000_000_000
    drawn = rig()
    streams = {stream.name: stream for stream in drawn.streams}
    fast = _times(start, 100, rng)
    names = drawn.joint_names
    slow = _times(start, 30, rng)
    noise = rng.normal(0, 2e-4, (len(fast), 3))
    force = rng.normal(0, 0.5, (len(fast), 6))
    zeros = np.zeros(len(fast))
    series = {
        'state': joint_series(streams['state'], fast, move(fast - start, LAG_S) + noise, names),
        'action': joint_series(streams['action'], fast, move(fast - start, 0), names),
        'front': _stamped(streams['front'], slow),
        'info': replace(
            _stamped(streams['info'], slow),
            table=Table(
                ('fx', 'fy', 'cx', 'cy'),
                np.tile([120.0, 120, 80, 60], (len(slow), 1)),
                ('0 0 0',) * len(slow),
            ),
        ),
        'wrench': replace(
            _stamped(streams['wrench'], fast),
            table=Table(('fx', 'fy', 'fz', 'tx', 'ty', 'tz'), force),
        ),
        'authority': replace(
            _stamped(streams['authority'], fast),
            table=Table(
                ('weight', 'phase'),
                np.stack([zeros + 1, zeros + Phase.HUMAN], 1),
                ('',) * len(fast),
            ),
        ),
        'ik': replace(_stamped(streams['ik'], fast), table=Table(('valid',), zeros[:, None] + 1)),
    }
    series = {name: _received(s, rng) for name, s in series.items()}
    seen = move(slow - start, LAG_S + CAMERA_LAG_S)
    return Recording(
        content_id(series),
        f'rehearsal_{seed}',
        'rehearsal',
        drawn,
        Facts({'task': 'reach'}),
        series,
        (),
        (),
        (),
        {'front': _Camera(seen, seed)},
    )


def _times(start: int, rate: float, rng: Rng) -> np.ndarray:
    step = 1e9 / rate
    count = int(SECONDS * rate)
    late = rng.normal(0, 0.01 * step, count)
    return start + np.round(np.arange(count) * step + late).astype(np.int64)


def _stamped(stream: object, stamps: np.ndarray) -> Series:
    from curation.sources.table import image_series

    return image_series(stream, stamps)  # type: ignore[arg-type]


def _received(series: Series, rng: Rng) -> Series:
    delay = 2 * MS + np.abs(rng.normal(0, 0.3 * MS, len(series))).astype(np.int64)
    return replace(
        series,
        header_ns=series.stamps_ns,
        publish_ns=series.stamps_ns + MS,
        log_ns=series.stamps_ns + delay,
    )


class _Motion:
    """Minimum-jerk reaches between random places, alike from episode to episode."""

    def __init__(self, rng: Rng) -> None:
        base = np.array(
            [
                [0, 0, 0],
                [0.7, -0.5, 0.9],
                [-0.4, 0.6, 0.2],
                [0.5, 0.2, -0.6],
                [-0.8, -0.3, 0.5],
                [0.1, 0.4, -0.2],
                [0, 0, 0],
            ],
            float,
        )
        self._places = base + rng.normal(0, 0.12, base.shape)
        share = rng.uniform(0.8, 1.2, len(base) - 1)
        self._ends = np.concatenate([[0], np.cumsum(share) / share.sum()]) * (SECONDS - 0.6) + 0.3

    def __call__(self, since_start_ns: np.ndarray, late_s: float) -> np.ndarray:
        seconds = since_start_ns / 1e9 - late_s
        leg = np.clip(np.searchsorted(self._ends, seconds) - 1, 0, len(self._places) - 2)
        part = np.clip((seconds - self._ends[leg]) / np.diff(self._ends)[leg], 0, 1)[:, None]
        smooth = part**3 * (10 - 15 * part + 6 * part**2)
        return self._places[leg] + smooth * (self._places[leg + 1] - self._places[leg])


class _Camera:
    """Draws a warm-coloured gripper over a textured bench, with sensor noise."""

    def __init__(self, joints: np.ndarray, seed: int) -> None:
        self._joints = joints
        self._seed = seed
        bench = np.random.default_rng(7)
        coarse = bench.uniform(40, 170, (HEIGHT // 6, WIDTH // 6, 1)) * np.array([1.0, 0.8, 0.5])
        self._bench = np.kron(coarse, np.ones((6, 6, 1)))[:HEIGHT, :WIDTH]
        pad = ((0, HEIGHT - self._bench.shape[0]), (0, WIDTH - self._bench.shape[1]), (0, 0))
        self._bench = np.pad(self._bench, pad, mode='edge')

    def __call__(self, index: int) -> np.ndarray:
        pan, lift, elbow = self._joints[index]
        image = self._bench.copy()
        for x, y, size, colour in (
            (80 + 50 * pan, 60 + 35 * lift, 12, (220, 90, 40)),
            (80 + 40 * elbow, 30 + 20 * pan, 8, (200, 160, 60)),
        ):
            rows, columns = np.ogrid[:HEIGHT, :WIDTH]
            inside = np.clip(size + 0.5 - np.hypot(rows - y, columns - x), 0, 1)[..., None]
            image = image * (1 - inside) + inside * np.array(colour)
        noise = np.random.default_rng((self._seed, index)).normal(0, 2, image.shape)
        return np.clip(image + noise, 0, 255).astype(np.uint8)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings of a small arm before a camera, by arithmetic; faults of streams and images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from curation.align.episode import Facts
from curation.align.series import Recording, Series, Table
from curation.bag.model import Problem
from curation.exceptions import DecodeError
from curation.sources.table import content_id, joint_series
from support.faults import Fault, Planted, Rng, taken
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


def _planted(
    recording: Recording, checks: str, start: int | None = None, end: int | None = None
) -> Planted:
    stamps = recording.series['action'].stamps_ns
    return Planted(
        replace(recording, id=recording.id + '*'),
        frozenset(checks.split()),
        int(stamps[0] if start is None else start),
        int(stamps[-1] if end is None else end),
    )


def _stream(name: str, change: Callable[[Series, Rng], Series], checks: str) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        altered = change(recording.series[name], rng)
        return _planted(replace(recording, series={**recording.series, name: altered}), checks)

    return fault


def _missing(recording: Recording, rng: Rng) -> Planted:
    series = {name: s for name, s in recording.series.items() if name != 'front'}
    altered = replace(
        recording, series=series, frames={}, missing=(recording.rig.stream('front'),)
    )
    return _planted(altered, 'missing_stream')


def _cut(part: slice, checks: str) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        rows = np.arange(len(recording.series['front']))[part]
        camera = recording.frames['front']
        series = {**recording.series, 'front': taken(recording.series['front'], rows)}
        frames = {'front': lambda i: camera(int(rows[i]))}
        return _planted(replace(recording, series=series, frames=frames), checks)

    return fault


def _header(change: Callable[[np.ndarray, Rng], np.ndarray]) -> Callable[[Series, Rng], Series]:
    def altered(series: Series, rng: Rng) -> Series:
        header = change(series.header_ns.copy(), rng)
        return replace(series, header_ns=header, stamps_ns=header)

    return altered


def _stall(series: Series, rng: Rng) -> Series:
    log = series.log_ns.copy()
    at = len(log) // 2
    log[at : at + 30] = np.maximum(log[at : at + 30], log[at + 30])
    return replace(series, log_ns=log)


def _renamed(series: Series, rng: Rng) -> Series:
    half = len(series) // 2
    names = series.joints.names
    layouts = ((0, names), (half, names[::-1]))
    return replace(series, joints=replace(series.joints, layouts=layouts))


def _half_rate(series: Series, rng: Rng) -> Series:
    return taken(series, np.arange(0, len(series), 2))


def _lost(series: Series, rng: Rng) -> Series:
    return taken(series, np.flatnonzero(rng.random(len(series)) > 0.08))


def _table(column: int, value: float, span: slice) -> Callable[[Series, Rng], Series]:
    def altered(series: Series, rng: Rng) -> Series:
        values = series.table.values.copy()
        values[span, column] = value
        return replace(series, table=replace(series.table, values=values))

    return altered


def images(change: Callable[[np.ndarray, int, Rng], np.ndarray], checks: str) -> Fault:
    """Return a fault that alters images by their index."""

    def fault(recording: Recording, rng: Rng) -> Planted:
        camera = recording.frames['front']
        frames = {'front': lambda i: change(camera(i), i, rng)}
        return _planted(replace(recording, frames=frames), checks)

    return fault


def _shown(which: Callable[[int], int], checks: str) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        camera = recording.frames['front']
        return _planted(replace(recording, frames={'front': lambda i: camera(which(i))}), checks)

    return fault


def _blurred(image: np.ndarray, i: int, rng: Rng) -> np.ndarray:
    import cv2

    return np.asarray(cv2.GaussianBlur(image, (0, 0), 2.0), np.uint8)


def _broken(image: np.ndarray, i: int, rng: Rng) -> np.ndarray:
    if i in (50, 51):
        raise DecodeError('broken')
    return image


def _corrupt(recording: Recording, rng: Rng) -> Planted:
    stamp = int(recording.series['state'].stamps_ns[400])
    problem = Problem('a chunk is lost', ('/s',), stamp, stamp + 10 * MS)
    return _planted(replace(recording, problems=(problem,)), 'corrupt', stamp, stamp + 10 * MS)


def _late_camera(milliseconds: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        series = recording.series['front']
        shifted = series.stamps_ns + round(milliseconds * MS)
        altered = replace(series, stamps_ns=shifted)
        return _planted(
            replace(recording, series={**recording.series, 'front': altered}), 'camera_shift'
        )

    return fault


def stream_faults() -> dict[str, Fault]:
    """Return faults of streams, clocks, images and events by name."""
    middle = slice(400, 420)
    return {
        'camera missing': _missing,
        'camera 1 s late': _cut(slice(30, None), 'late_stream'),
        'camera ends 1 s early': _cut(slice(0, -30), 'late_stream'),
        'state at half its rate': _stream('state', _half_rate, 'rate'),
        '8 % of the state lost': _stream('state', _lost, 'jitter'),
        'recorder stalls 0.3 s': _stream('state', _stall, 'recorder_stall'),
        'header stamps zero': _stream('state', _header(lambda h, r: h * 0), 'zero_stamps'),
        'stamps of another epoch': _stream(
            'state', _header(lambda h, r: h - START_NS), 'other_clock'
        ),
        'stamps 20 ms after receipt': _stream(
            'state', _header(lambda h, r: h + 22 * MS), 'other_clock'
        ),
        'clock drifts by 2000 ppm': _stream(
            'state',
            _header(lambda h, r: h[0] + ((h - h[0]) * 1.002).astype(np.int64)),
            'clock_drift',
        ),
        'joint order changes': _stream('state', _renamed, 'joint_names'),
        'damaged chunk': _corrupt,
        'broken images': images(_broken, 'broken_image'),
        'image frozen 1 s': _shown(lambda i: 100 if 100 <= i < 130 else i, 'frozen_image'),
        'every tenth image repeated': _shown(lambda i: i - (i % 10 == 5), 'frozen_image'),
        'black for 1 s': images(lambda im, i, r: im // 40 if 60 <= i < 90 else im, 'exposure'),
        'overexposed': images(
            lambda im, i, r: np.clip(im.astype(int) * 8, 0, 255).astype(np.uint8), 'exposure'
        ),
        'blurred': images(_blurred, 'blur'),
        'red and blue exchanged': images(
            lambda im, i, r: np.ascontiguousarray(im[..., ::-1]), 'colour_order'
        ),
        'camera moved by 6 pixels': images(
            lambda im, i, r: np.roll(im, (2, 6), axis=(0, 1)), 'camera_moved'
        ),
        'camera calibration changed': _stream(
            'info', _table(0, 130.0, slice(None)), 'calibration'
        ),
        'camera 60 ms late': _late_camera(60),
        'camera 120 ms early': _late_camera(-120),
        'emergency stop': _stream(
            'authority', _table(1, float(Phase.ESTOP), middle), 'emergency_stop'
        ),
        'follower holds 0.5 s': _stream(
            'authority', _table(1, float(Phase.HOLD), slice(400, 450)), 'emergency_stop'
        ),
        'force peak of 90 N': _stream('wrench', _table(2, 90.0, slice(400, 403)), 'force_peak'),
        'no inverse kinematics for 0.5 s': _stream(
            'ik', _table(0, 0.0, slice(300, 350)), 'ik_invalid'
        ),
    }

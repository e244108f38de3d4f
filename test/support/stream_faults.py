# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Faults of streams, clocks, images and events, planted in recordings that have a camera."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import cv2
import numpy as np

from curation.align.episode import Image
from curation.align.series import Recording, Series, Table
from curation.bag.model import Problem
from curation.exceptions import DecodeError
from curation.sources.table import image_series
from support.faults import Fault, moving_window, Planted, Rng, taken, with_series
from teleop_bridge.rig.schema import Role, Stream
from teleop_bridge.vocabulary import Phase

MS = 1_000_000
CAMERA = 'front'
Span = tuple[float, float]  # parts of the episode
WHOLE: Span = (0.0, 1.0)
FROM_MIDDLE_S = 1e3  # so long that it lasts to the end


def _planted(recording: Recording, checks: str, span: Span = WHOLE) -> Planted:
    stamps = np.sort(recording.series['action'].stamps_ns)
    start, end = (int(stamps[0] + min(part, 1) * (stamps[-1] - stamps[0])) for part in span)
    altered = replace(recording, id=recording.id + '*')
    return Planted(altered, frozenset(checks.split()), start - 50 * MS, end + 50 * MS)


def _rows(series: Series, span: Span) -> slice:
    return slice(int(span[0] * len(series)), int(span[1] * len(series)))


def _seconds(recording: Recording, start: float, seconds: float) -> Span:
    """Return the span of so many seconds from a part of the episode on."""
    stamps = recording.series['action'].stamps_ns
    return start, start + seconds * 1e9 / float(stamps[-1] - stamps[0])


def _stream(
    name: str, change: Callable[[Series, slice, Rng], Series], checks: str, seconds: float = 0.0
) -> Fault:
    """Return a fault of one stream, for so many seconds or all the time."""

    def fault(recording: Recording, rng: Rng) -> Planted:
        span = _seconds(recording, rng.uniform(0.3, 0.6), seconds) if seconds else WHOLE
        series = _named(recording, name)
        altered = change(series, _rows(series, span), rng)
        return _planted(with_series(recording, {series.stream.name: altered}), checks, span)

    return fault


def _named(recording: Recording, name: str) -> Series:
    """Return a stream by its name or, of what rigs name differently, its role."""
    if name in recording.series:
        return recording.series[name]
    role = Role(name)
    for series in recording.series.values():
        if series.stream.role is role:
            return series
    state = recording.series['state']  # a rig without it gets a healthy one
    stream = Stream(name, name, '', role, rate_hz=state.stream.rate_hz)
    table = Table(('valid',), np.ones((len(state), 1)))
    return replace(image_series(stream, state.stamps_ns), table=table)


def _missing(recording: Recording, rng: Rng) -> Planted:
    series = {name: s for name, s in recording.series.items() if name != CAMERA}
    frames = {name: f for name, f in recording.frames.items() if name != CAMERA}
    missing = (*recording.missing, recording.rig.stream(CAMERA))
    altered = replace(recording, series=series, frames=frames, missing=missing)
    return _planted(altered, 'missing_stream')


def _cut(kept: Span, lost: Span, checks: str) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        series = recording.series[CAMERA]
        rows = np.arange(len(series))[_rows(series, kept)]
        altered = _with_frames(recording, rows)
        return _planted(altered, checks, lost)

    return fault


def _gap(seconds: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        span = _seconds(recording, rng.uniform(0.2, 0.7), seconds)
        series = recording.series[CAMERA]
        rows = np.delete(np.arange(len(series)), _rows(series, span))
        return _planted(_with_frames(recording, rows), 'gap', span)

    return fault


def _with_frames(recording: Recording, rows: np.ndarray) -> Recording:
    camera = recording.frames[CAMERA]
    altered = with_series(recording, {CAMERA: taken(recording.series[CAMERA], rows)})
    return replace(altered, frames={**recording.frames, CAMERA: lambda i: camera(int(rows[i]))})


def _header(
    change: Callable[[np.ndarray], np.ndarray],
) -> Callable[[Series, slice, Rng], Series]:
    def altered(series: Series, rows: slice, rng: Rng) -> Series:
        header = series.header_ns.copy()
        header[rows] = change(header[rows])
        return replace(series, header_ns=header, stamps_ns=header)

    return altered


def _stall(series: Series, rows: slice, rng: Rng) -> Series:
    log = series.log_ns.copy()
    log[rows] = np.maximum(log[rows], log[rows.stop])
    return replace(series, log_ns=log)


def _reordered(series: Series, rows: slice, rng: Rng) -> Series:
    joints = series.joints
    assert joints is not None
    layouts = ((0, joints.names), (len(series) // 2, joints.names[::-1]))
    return replace(series, joints=replace(joints, layouts=layouts))


def _renamed(series: Series, rows: slice, rng: Rng) -> Series:
    joints = series.joints
    assert joints is not None
    half = len(series) // 2
    old, new = joints.names[0], joints.names[0] + '_joint'
    column = joints.positions[:, [0]].copy()
    column[:half] = np.nan
    positions = np.concatenate([joints.positions, column], axis=1)
    positions[half:, 0] = np.nan
    present = np.isfinite(positions)
    nothing = np.full(positions.shape, np.nan)
    layouts = ((0, joints.names), (half, (new, *joints.names[1:])))
    assert old != new
    table = replace(
        joints,
        names=(*joints.names, new),
        positions=positions,
        velocities=nothing,
        efforts=nothing,
        present=present,
        layouts=layouts,
    )
    return replace(series, joints=table)


def _thinned(series: Series, rows: slice, rng: Rng) -> Series:
    return taken(series, np.arange(0, len(series), 2))


def _lost(share: float) -> Callable[[Series, slice, Rng], Series]:
    return lambda series, rows, rng: taken(
        series, np.flatnonzero(rng.random(len(series)) > share)
    )


def _table(column: int, value: float) -> Callable[[Series, slice, Rng], Series]:
    def altered(series: Series, rows: slice, rng: Rng) -> Series:
        assert series.table is not None
        values = series.table.values.copy()
        values[rows, column] = value
        return replace(series, table=replace(series.table, values=values))

    return altered


def images(
    change: Callable[[np.ndarray, Rng], np.ndarray], checks: str, seconds: float = 0
) -> Fault:
    """Return a fault that alters a camera's images, for so many seconds or all of them."""

    def fault(recording: Recording, rng: Rng) -> Planted:
        camera = recording.frames[CAMERA]
        span = _seconds(recording, rng.uniform(0.3, 0.6), seconds) if seconds else WHOLE
        rows = _rows(recording.series[CAMERA], span)

        def frame(i: int) -> Image:
            image = camera(i)
            return change(image, rng) if rows.start <= i < rows.stop else image

        frames = {**recording.frames, CAMERA: frame}
        return _planted(replace(recording, frames=frames), checks, span)

    return fault


def _hung(seconds: float, noise: float = 0.0) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        camera = recording.frames[CAMERA]
        first, last = moving_window(recording, seconds, rng)
        count = len(recording.series['action'])
        span = first / count, last / count
        rows = _rows(recording.series[CAMERA], span)

        def frame(i: int) -> Image:
            if not rows.start <= i < rows.stop:
                return camera(i)
            image = camera(rows.start)
            if not noise:
                return image
            hiss = np.random.default_rng(i).normal(0, noise, image.shape)
            return np.clip(image + hiss, 0, 255).astype(np.uint8)

        altered = replace(recording, frames={**recording.frames, CAMERA: frame})
        return _planted(altered, 'frozen_image', span)

    return fault


def _every(count: int) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        camera = recording.frames[CAMERA]
        frames = {**recording.frames, CAMERA: lambda i: camera(i - (i % count == count // 2))}
        return _planted(replace(recording, frames=frames), 'frozen_image')

    return fault


def _breaks(image: np.ndarray, rng: Rng) -> np.ndarray:
    raise DecodeError('broken')


def _brighter(factor: float) -> Callable[[np.ndarray, Rng], np.ndarray]:
    return lambda image, rng: np.clip(image.astype(int) * factor, 0, 255).astype(np.uint8)


def _blurred(sigma: float) -> Callable[[np.ndarray, Rng], np.ndarray]:
    """Blur by so many pixels of an image 640 wide."""
    return lambda image, rng: np.asarray(
        cv2.GaussianBlur(image, (0, 0), sigma * image.shape[1] / 640), np.uint8
    )


def _shifted(pixels: float) -> Callable[[np.ndarray, Rng], np.ndarray]:
    """Move the scene by so many pixels of this image."""

    def change(image: np.ndarray, rng: Rng) -> np.ndarray:
        matrix = np.array([[1, 0, pixels], [0, 1, pixels / 3]], np.float32)
        size = (image.shape[1], image.shape[0])
        return np.asarray(
            cv2.warpAffine(image, matrix, size, borderMode=cv2.BORDER_REPLICATE), np.uint8
        )

    return change


def _turned(degrees: float) -> Callable[[np.ndarray, Rng], np.ndarray]:
    def change(image: np.ndarray, rng: Rng) -> np.ndarray:
        size = (image.shape[1], image.shape[0])
        matrix = cv2.getRotationMatrix2D((size[0] / 2, size[1] / 2), degrees, 1)
        return np.asarray(
            cv2.warpAffine(image, matrix, size, borderMode=cv2.BORDER_REPLICATE), np.uint8
        )

    return change


def _red_is_blue(image: np.ndarray, rng: Rng) -> np.ndarray:
    return np.ascontiguousarray(image[..., ::-1])


def _corrupt(recording: Recording, rng: Rng) -> Planted:
    span = _seconds(recording, 0.5, 0.05)
    planted = _planted(recording, 'corrupt', span)
    problem = Problem('a chunk is lost', ('/s',), planted.start_ns, planted.end_ns)
    return replace(planted, recording=replace(planted.recording, problems=(problem,)))


def _late_camera(milliseconds: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        series = recording.series[CAMERA]
        shifted = series.stamps_ns + round(milliseconds * MS)
        altered = replace(series, stamps_ns=shifted, header_ns=shifted)
        return _planted(with_series(recording, {CAMERA: altered}), 'camera_shift')

    return fault


def _held_back(seconds: float) -> Fault:
    """The executed command stays behind what the human asks for."""

    def fault(recording: Recording, rng: Rng) -> Planted:
        series = recording.series
        span = _seconds(recording, rng.uniform(0.3, 0.6), seconds)
        asked = series.get('human') or replace(
            series['action'],
            stream=Stream('human', '/h', '', Role.HUMAN_PROPOSAL, rate_hz=100),
        )
        assert asked.joints is not None
        positions = asked.joints.positions.copy()
        positions[_rows(asked, span), 0] += 0.3
        altered = replace(asked, joints=replace(asked.joints, positions=positions))
        planted = _planted(with_series(recording, {'human': altered}), 'limiter', span)
        return replace(planted, note=True)

    return fault


def _at_limit(seconds: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        series, changed = recording.series, {}
        span = _seconds(recording, rng.uniform(0.2, 0.5), seconds)
        for name in ('state', 'action'):
            joints = series[name].joints
            assert joints is not None
            positions = joints.positions.copy()
            k = joints.names.index(recording.rig.joints[0].name)
            positions[_rows(series[name], span), k] = recording.rig.joints[0].upper
            changed[name] = replace(series[name], joints=replace(joints, positions=positions))
        return _planted(with_series(recording, changed), 'limits', span)

    return fault


def stream_faults() -> dict[str, Fault]:
    """Return faults of streams, clocks, images and events by name."""
    return {
        'camera missing': _missing,
        'camera 1 s late': _cut((0.13, 1), (0, 0.13), 'late_stream'),
        'camera ends 1 s early': _cut((0, 0.87), (0.87, 1), 'late_stream'),
        'camera gap of 0.2 s': _gap(0.2),
        'state at half its rate': _stream('state', _thinned, 'rate'),
        '4 % of the state lost': _stream('state', _lost(0.04), 'jitter gap'),
        '8 % of the state lost': _stream('state', _lost(0.08), 'jitter gap'),
        'recorder stalls 0.2 s': _stream('state', _stall, 'recorder_stall', 0.2),
        'recorder stalls 0.5 s': _stream('state', _stall, 'recorder_stall', 0.5),
        'header stamps zero': _stream('state', _header(lambda h: h * 0), 'zero_stamps'),
        'header stamps zero for 0.1 s': _stream(
            'state', _header(lambda h: h * 0), 'zero_stamps', 0.1
        ),
        'stamps of another epoch': _stream(
            'state', _header(lambda h: h % (10**9 * 86_400 * 365)), 'other_clock'
        ),
        'stamps 20 ms after receipt': _stream(
            'state', _header(lambda h: h + 22 * MS), 'other_clock'
        ),
        'clock drifts by 1500 ppm': _stream(
            'state',
            _header(lambda h: h - ((h - h[0]) * 0.0015).astype(np.int64)),
            'clock_drift',
        ),
        'joint order changes': _stream('state', _reordered, 'joint_names'),
        'a joint is renamed in mid-bag': _stream('state', _renamed, 'joint_names'),
        'damaged chunk': _corrupt,
        'broken images': images(_breaks, 'broken_image', 0.1),
        'image frozen 0.5 s': _hung(0.5),
        'image frozen 1 s': _hung(1.0),
        'every tenth image repeated': _every(10),
        'every twentieth image repeated': _every(20),
        'black for 0.5 s': images(_brighter(0.02), 'exposure', 0.5),
        'overexposed': images(_brighter(8), 'exposure'),
        'overexposed for 0.5 s': images(_brighter(8), 'exposure', 0.5),
        'blurred by 4 pixels of 640': images(_blurred(4), 'blur'),
        'blurred by 8 pixels of 640': images(_blurred(8), 'blur'),
        'blurred by 6 pixels of 640 from the middle on': images(
            _blurred(6), 'blur', FROM_MIDDLE_S
        ),
        'a tenth as bright': images(_brighter(0.1), 'exposure'),
        'red and blue exchanged': images(_red_is_blue, 'colour_order'),
        'red and blue exchanged from the middle on': images(
            _red_is_blue, 'colour_order', FROM_MIDDLE_S
        ),
        'camera moved by 4 pixels': images(_shifted(4), 'camera_moved'),
        'camera moved by 10 pixels': images(_shifted(10), 'camera_moved'),
        'camera moved by 3 pixels from the middle on': images(
            _shifted(3), 'camera_moved', FROM_MIDDLE_S
        ),
        'camera turned by 3 degrees': images(_turned(3), 'camera_moved'),
        'camera calibration changed': _stream('camera_info', _table(0, 130.0), 'calibration'),
        'camera 60 ms late': _late_camera(60),
        'camera 120 ms early': _late_camera(-120),
        'emergency stop': _stream(
            'authority', _table(1, float(Phase.ESTOP)), 'emergency_stop', 0.2
        ),
        'follower holds 0.5 s': _stream(
            'authority', _table(1, float(Phase.HOLD)), 'emergency_stop', 0.5
        ),
        'force peak of 90 N': _stream('wrench', _table(2, 90.0), 'force_peak', 0.03),
        'command held back for 0.8 s': _held_back(0.8),
        'joint at its limit for 2 s': _at_limit(2.0),
        'no inverse kinematics for 0.5 s': _stream(
            'ik_validity', _table(0, 0.0), 'ik_invalid', 0.5
        ),
    }

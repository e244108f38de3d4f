# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Faults planted in recordings: what is altered, in which span, and which checks must find it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from curation.align.episode import Image
from curation.align.series import Recording, Series, Table
from teleop_bridge.rig.schema import JointKind

Rng = np.random.Generator
BOTH = ('state', 'action')


@dataclass(frozen=True)
class Planted:
    """A recording with a fault in [start_ns, end_ns] that one of ``checks`` must find."""

    recording: Recording
    checks: frozenset[str]
    start_ns: int
    end_ns: int
    note: bool = False  # it is an event to know of, not an error


Fault = Callable[[Recording, Rng], Planted]


def with_series(recording: Recording, series: Mapping[str, Series]) -> Recording:
    return replace(recording, series={**recording.series, **series}, id=recording.id + '*')


def with_positions(
    recording: Recording, change: Callable[[np.ndarray], np.ndarray], streams: tuple[str, ...]
) -> Recording:
    """Return the recording with the positions of streams changed, shape kept."""
    return with_series(
        recording,
        {
            name: replace(s, joints=replace(s.joints, positions=change(s.joints.positions.copy())))
            for name in streams
            if (s := recording.series[name]).joints is not None
        },
    )


def with_rows(recording: Recording, rows: np.ndarray, *, keep_times: bool) -> Recording:
    """Return the recording with rows of its state picked, and of the other streams as many
    in proportion; times run on evenly if not kept."""
    changed, frames = {}, {}
    count = len(_times(recording))
    for name, s in recording.series.items():
        mine = _in_proportion(rows, count, len(s))
        picked = taken(s, mine)
        if not keep_times:
            picked = received_at(picked, _even(s, len(mine)))
        changed[name] = picked
        if name in recording.frames:
            order = np.argsort(s.stamps_ns, kind='stable')
            frames[name] = _Frames(recording.frames[name], order, mine)
    return replace(with_series(recording, changed), frames=frames)


class _Frames:
    """An image stream of which rows were picked."""

    def __init__(
        self, source: Callable[[int], Image], order: np.ndarray, rows: np.ndarray
    ) -> None:
        self._source = source
        self._rows = np.argsort(order)[rows]

    def __call__(self, index: int) -> Image:
        return self._source(int(self._rows[index]))


def _in_proportion(rows: np.ndarray, count: int, own: int) -> np.ndarray:
    if own == count:
        return rows
    at = np.arange(round(len(rows) * own / count)) * count / own
    return np.round(rows[at.astype(int)] * own / count).astype(int).clip(0, own - 1)


def taken(series: Series, rows: np.ndarray) -> Series:
    """Return a stream with rows picked."""
    joints, table = series.joints, series.table
    if joints is not None:
        joints = replace(
            joints,
            positions=joints.positions[rows],
            velocities=joints.velocities[rows],
            efforts=joints.efforts[rows],
            present=joints.present[rows],
        )
    if table is not None:
        texts = tuple(table.texts[i] for i in rows) if table.texts else ()
        table = Table(table.names, table.values[rows], texts)
    return replace(
        series,
        stamps_ns=series.stamps_ns[rows],
        header_ns=series.header_ns[rows],
        publish_ns=series.publish_ns[rows],
        log_ns=series.log_ns[rows],
        refs=series.refs[rows],
        sizes=series.sizes[rows],
        joints=joints,
        table=table,
    )


def received_at(series: Series, stamps: np.ndarray) -> Series:
    """Return a stream with new stamps, received as long after them as it usually is."""
    late = int(np.median(series.log_ns - series.stamps_ns)) if len(series) else 0
    has_header = bool((series.header_ns > 0).all())
    nothing = np.full(len(stamps), -1, np.int64)
    return replace(
        series,
        stamps_ns=stamps,
        log_ns=stamps + late,
        header_ns=stamps if has_header else nothing,
        publish_ns=nothing,
    )


def _even(series: Series, count: int) -> np.ndarray:
    step = float(np.median(np.diff(series.stamps_ns))) if len(series) > 1 else 0.0
    first = series.stamps_ns[0] if len(series) else 0
    return first + np.round(np.arange(count) * step).astype(np.int64)


def _times(recording: Recording) -> np.ndarray:
    return recording.series['state'].stamps_ns


def _moving_joints(recording: Recording, count: int, rng: Rng) -> np.ndarray:
    """Return joints that move most, in random order of the better half."""
    positions = recording.series['state'].joints.positions
    order = np.argsort(-np.std(positions, axis=0))[: max(count, positions.shape[1] // 3)]
    return rng.choice(order, count, replace=False)


def moving_window(recording: Recording, seconds: float, rng: Rng) -> tuple[int, int]:
    """Return the samples of a span in which the arm moves."""
    times = _times(recording)
    size = max(int(seconds * 1e9 / np.median(np.diff(times))), 2)
    positions = recording.series['action'].joints.positions
    energy = np.abs(np.diff(positions, axis=0)).sum(axis=1)
    total = np.convolve(energy, np.ones(size), mode='valid')
    starts = np.flatnonzero(total > np.percentile(total, 60))
    starts = starts[(starts > 10) & (starts < len(times) - size - 10)]
    start = int(rng.choice(starts))
    return start, start + size


def _all(recording: Recording, checks: str, altered: Recording) -> Planted:
    times = _times(altered)
    return Planted(altered, frozenset(checks.split()), int(times[0]), int(times[-1]))


def _part(checks: str, altered: Recording, start: int, end: int) -> Planted:
    times = _times(altered)
    last = len(times) - 1
    return Planted(
        altered, frozenset(checks.split()), int(times[max(start, 0)]), int(times[min(end, last)])
    )


def not_finite(value: float, stream: str = 'state') -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        start, end = moving_window(recording, 0.1, rng)

        def change(values: np.ndarray) -> np.ndarray:
            values[start:end, rng.integers(values.shape[1])] = value
            return values

        return _part('not_finite', with_positions(recording, change, (stream,)), start, end)

    return fault


def frozen(stream: str, seconds: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        start, end = moving_window(recording, seconds, rng)

        def change(values: np.ndarray) -> np.ndarray:
            values[start:end] = values[start]
            return values

        return _part('frozen_state', with_positions(recording, change, (stream,)), start, end)

    return fault


def exchanged_joints(streams: tuple[str, ...]) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        a, b = _unlike_pair(recording, rng)

        def change(values: np.ndarray) -> np.ndarray:
            values[:, [a, b]] = values[:, [b, a]]
            return values

        return _all(
            recording, 'joint_identity joint_profile', with_positions(recording, change, streams)
        )

    return fault


def _unlike_pair(recording: Recording, rng: Rng) -> tuple[int, int]:
    """Return two joints that can be told apart: their usual positions differ."""
    middle = np.median(recording.series['state'].joints.positions, axis=0)
    pairs = [
        (a, b) for a in range(len(middle)) for b in range(a) if abs(middle[a] - middle[b]) > 0.25
    ]
    return pairs[int(rng.integers(len(pairs)))]


def flipped_sign(streams: tuple[str, ...]) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        middle = np.abs(np.median(recording.series['state'].joints.positions, axis=0))
        joint = int(rng.choice(np.flatnonzero(middle > 0.15)))

        def change(values: np.ndarray) -> np.ndarray:
            values[:, joint] *= -1
            return values

        return _all(
            recording, 'joint_identity joint_profile', with_positions(recording, change, streams)
        )

    return fault


def in_other_units(
    streams: tuple[str, ...], *, factor: float = 180 / np.pi, one: bool = False
) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        positions = recording.series['state'].joints.positions
        joint = int(rng.choice(np.flatnonzero(np.abs(np.median(positions, axis=0)) > 0.15)))

        def change(values: np.ndarray) -> np.ndarray:
            values[:, joint if one else slice(None)] *= factor
            return values

        return _all(
            recording,
            'joint_identity joint_profile limits',
            with_positions(recording, change, streams),
        )

    return fault


def reordered_in_mid_bag(streams: tuple[str, ...]) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        count = len(_times(recording))
        at = int(rng.integers(count // 4, 3 * count // 4))
        a, b = _unlike_pair(recording, rng)

        def change(values: np.ndarray) -> np.ndarray:
            values[at:, [a, b]] = values[at:, [b, a]]
            return values

        altered = with_positions(recording, change, streams)
        return _part('joint_reorder joint_identity joint_profile', altered, at, count)

    return fault


def flipped_in_mid_bag(streams: tuple[str, ...]) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        count = len(_times(recording))
        at = int(rng.integers(count // 4, 3 * count // 4))
        middle = np.abs(np.median(recording.series['state'].joints.positions, axis=0))
        joint = int(rng.choice(np.flatnonzero(middle > 0.15)))

        def change(values: np.ndarray) -> np.ndarray:
            values[at:, joint] *= -1
            return values

        altered = with_positions(recording, change, streams)
        return _part('joint_flip joint_identity joint_profile', altered, at, count)

    return fault


def spikes(radians: float, *, samples: int = 1, stream: str = 'state') -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        start, _ = moving_window(recording, 0.5, rng)
        joint = int(rng.integers(recording.series[stream].joints.positions.shape[1]))

        def change(values: np.ndarray) -> np.ndarray:
            values[start : start + samples, joint] += radians * rng.choice((-1, 1))
            return values

        altered = with_positions(recording, change, (stream,))
        return _part('spike', altered, start, start + samples - 1)

    return fault


def hidden_gap(seconds: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        start, end = moving_window(recording, seconds, rng)
        rows = np.r_[0:start, end : len(_times(recording))]
        altered = with_rows(recording, rows, keep_times=False)
        return _part('hidden_gap', altered, start - 2, start + 2)

    return fault


def repeated_samples(share: float, *, regular: bool = False) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        count = len(_times(recording))
        rows = np.arange(count)
        at = rng.choice(np.arange(1, count - 1), int(share * count), replace=False)
        if regular:  # a slower recording on a faster grid
            at = np.arange(3, count, round(1 / share))
        rows[at] -= 1
        return _all(
            recording,
            'repeated_samples',
            with_positions(recording, lambda values: values[rows], BOTH),
        )

    return fault


def exchanged_samples(recording: Recording, rng: Rng) -> Planted:
    start, end = moving_window(recording, 1.0, rng)
    rows = np.arange(len(_times(recording)))
    for at in range(start, end - 1, 4):
        rows[[at, at + 1]] = rows[[at + 1, at]]
    return _part(
        'reordered_samples', with_positions(recording, lambda v: v[rows], BOTH), start, end
    )


def doubled_messages(share: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        count = len(_times(recording))
        twice = rng.choice(count, max(int(share * count), 2), replace=False)
        rows = np.sort(np.r_[np.arange(count), twice])
        altered = taken(recording.series['state'], rows)
        return _all(recording, 'stamp_order', with_series(recording, {'state': altered}))

    return fault


def exchanged_messages(share: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        count = len(_times(recording))
        rows = np.arange(count)
        at = np.unique(rng.choice(np.arange(0, count - 2, 3), int(share * count), replace=False))
        rows[at], rows[at + 1] = at + 1, at
        altered = taken(recording.series['state'], rows)
        return _all(recording, 'stamp_order', with_series(recording, {'state': altered}))

    return fault


def late_state(milliseconds: float, *, from_middle: bool = False) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        times = _times(recording)
        seconds = (times - times[0]) / 1e9
        then = seconds - milliseconds / 1e3
        if from_middle:
            then = np.where(seconds > seconds[-1] / 2, then, seconds)

        def change(values: np.ndarray) -> np.ndarray:
            return np.stack([np.interp(then, seconds, column) for column in values.T], axis=1)

        checks = 'lag_change' if from_middle else 'lag_shift'
        return _all(recording, checks, with_positions(recording, change, ('state',)))

    return fault


def tremor(radians: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        seconds = (_times(recording) - _times(recording)[0]) / 1e9
        joints = _moving_joints(recording, 3, rng)
        wave = radians * np.sin(2 * np.pi * rng.uniform(6, 9) * seconds)[:, None]

        def change(values: np.ndarray) -> np.ndarray:
            values[:, joints] += wave
            return values

        return _all(recording, 'tremor', with_positions(recording, change, BOTH))

    return fault


def idle(where: str, seconds: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        times = _times(recording)
        count = len(times)
        size = int(seconds * 1e9 / np.median(np.diff(times)))
        at = {'start': 0, 'end': count - 1, 'middle': count // 2}[where]
        rows = np.r_[0:at, np.full(size, at), at:count]
        altered = with_rows(recording, rows, keep_times=False)
        noise = rng.normal(0, 1e-4, (len(rows), 1))
        altered = with_positions(altered, lambda values: values + noise, BOTH)
        return _part('idle', altered, at, at + size)

    return fault


def cut_short(part: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        rows = np.arange(int(part * len(_times(recording))))
        return _all(recording, 'duration', with_rows(recording, rows, keep_times=True))

    return fault


def slow(factor: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        count = len(_times(recording))
        rows = np.linspace(0, count - 1, int(factor * count))
        altered = with_rows(recording, np.round(rows).astype(int), keep_times=False)
        source = {name: recording.series[name].joints.positions for name in BOTH}
        for name in BOTH:
            values = np.stack(
                [np.interp(rows, np.arange(count), column) for column in source[name].T], axis=1
            )
            altered = with_positions(altered, lambda _, values=values: values, (name,))
        return _all(recording, 'duration', altered)

    return fault


def copy_of(original: Recording, *, noise: float = 0.0, warp: float = 0.0) -> Fault:
    """Replace the episode by another one of the collection, warped in time, with noise."""

    def fault(recording: Recording, rng: Rng) -> Planted:
        count = len(_times(original))
        phase = np.linspace(0, 1, count)
        bent = phase + warp * np.sin(2 * np.pi * phase) / (2 * np.pi)
        rows = bent * (count - 1)

        def change(values: np.ndarray) -> np.ndarray:
            moved = np.stack(
                [np.interp(rows, np.arange(count), column) for column in values.T], axis=1
            )
            return moved + rng.normal(0, noise, moved.shape) if noise else moved

        altered = with_positions(original, change, BOTH) if noise or warp else original
        return _all(recording, 'duplicate', replace(altered, name=recording.name))

    return fault


def displaced(radians: float) -> Fault:
    """Move a joint's zero."""

    def fault(recording: Recording, rng: Rng) -> Planted:
        joint = int(rng.integers(recording.series['state'].joints.positions.shape[1]))

        def change(values: np.ndarray) -> np.ndarray:
            values[:, joint] += radians
            return values

        return _all(recording, 'joint_offset', with_positions(recording, change, ('state',)))

    return fault


def clipped(part: float, stream: str = 'state') -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        positions = recording.series[stream].joints.positions
        tops = np.percentile(positions, 100 * (1 - part), axis=0)
        cut = positions.max(axis=0) - tops
        kinds = {j.name: j.kind for j in recording.rig.joints}
        names = recording.series[stream].joints.names
        # a gripper that is clipped looks like one that holds an object
        cut[[kinds[name] is JointKind.GRIPPER for name in names]] = 0.0
        joint = int(rng.choice(np.flatnonzero(cut > min(0.08, cut.max() * 0.99))))

        def change(values: np.ndarray) -> np.ndarray:
            values[:, joint] = np.minimum(values[:, joint], tops[joint])
            return values

        return _all(
            recording, 'saturation stuck_joint', with_positions(recording, change, (stream,))
        )

    return fault


def stuck(seconds: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        start, end = moving_window(recording, seconds, rng)
        joints = recording.series['action'].joints.positions
        # fingers stand on objects in clean episodes too
        arm = slice(0, 14 if joints.shape[1] > 14 else joints.shape[1] - 1)
        part = np.ptp(joints[start:end, arm], axis=0) / (np.ptp(joints[:, arm], axis=0) + 0.05)
        joint = int(np.argmax(part))

        def change(values: np.ndarray) -> np.ndarray:
            values[start:end, joint] = values[start, joint]
            return values

        return _part('stuck_joint', with_positions(recording, change, ('state',)), start, end)

    return fault


def with_stamps(
    recording: Recording, change: Callable[[np.ndarray], np.ndarray], stream: str = 'state'
) -> Recording:
    series = recording.series[stream]
    stamps = change(series.stamps_ns.copy())
    header = stamps if (series.header_ns > 0).all() else series.header_ns
    return with_series(recording, {stream: replace(series, stamps_ns=stamps, header_ns=header)})


def time_gap(seconds: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        start, end = moving_window(recording, seconds, rng)
        rows = np.r_[0:start, end : len(_times(recording))]
        return _part('gap', with_rows(recording, rows, keep_times=True), start - 1, start + 1)

    return fault


def scattered(part: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        step = float(np.median(np.diff(_times(recording))))

        def change(stamps: np.ndarray) -> np.ndarray:
            return stamps + rng.uniform(-part, part, len(stamps)).__mul__(step).astype(np.int64)

        return _all(recording, 'jitter stamp_order', with_stamps(recording, change))

    return fault


def backwards(milliseconds: float) -> Fault:
    def fault(recording: Recording, rng: Rng) -> Planted:
        start, end = moving_window(recording, 0.5, rng)

        def change(stamps: np.ndarray) -> np.ndarray:
            stamps[start:] -= int(milliseconds * 1e6)
            return stamps

        checks = 'stamp_order' if milliseconds > 0 else 'gap clock_step'
        return _part(checks, with_stamps(recording, change), start - 5, start + 5)

    return fault


def standing_stamps(recording: Recording, rng: Rng) -> Planted:
    start, end = moving_window(recording, 0.3, rng)

    def change(stamps: np.ndarray) -> np.ndarray:
        stamps[start:end] = stamps[start]
        return stamps

    return _part('stamp_order', with_stamps(recording, change), start, end)


def motion_faults(other: Recording) -> dict[str, Fault]:
    """Return faults of motion and time by name, at strengths a person would care about."""
    state, action = ('state',), ('action',)
    return {
        'NaN for 0.1 s': not_finite(np.nan),
        'infinite command for 0.1 s': not_finite(np.inf, 'action'),
        'state frozen 0.5 s': frozen('state', 0.5),
        'state frozen 1 s': frozen('state', 1.0),
        'command frozen 0.5 s': frozen('action', 0.5),
        'command frozen 1 s': frozen('action', 1.0),
        'two joints swapped in the state': exchanged_joints(state),
        'two joints swapped in the command': exchanged_joints(action),
        'two joints swapped in state and command': exchanged_joints(BOTH),
        'one sign flipped in the state': flipped_sign(state),
        'one sign flipped in the command': flipped_sign(action),
        'one sign flipped in state and command': flipped_sign(BOTH),
        'state in degrees': in_other_units(state),
        'command in degrees': in_other_units(action),
        'state and command in degrees': in_other_units(BOTH),
        'one joint in degrees, state': in_other_units(state, one=True),
        'one joint in degrees, state and command': in_other_units(BOTH, one=True),
        'one joint in thousandths, state and command': in_other_units(
            BOTH, factor=1000, one=True
        ),
        'joints reordered in mid-bag, state': reordered_in_mid_bag(state),
        'joints reordered in mid-bag, both': reordered_in_mid_bag(BOTH),
        'one sign flipped in mid-bag, state': flipped_in_mid_bag(state),
        'one sign flipped in mid-bag, both': flipped_in_mid_bag(BOTH),
        'a sample of the state off by 0.3 rad': spikes(0.3),
        'a sample of the command off by 0.3 rad': spikes(0.3, stream='action'),
        'two samples of the state off by 0.3 rad': spikes(0.3, samples=2),
        '0.3 s lost and re-gridded': hidden_gap(0.3),
        '0.5 s lost and re-gridded': hidden_gap(0.5),
        '1 s lost and re-gridded': hidden_gap(1.0),
        '5 % of the samples repeated': repeated_samples(0.05),
        '10 % of the samples repeated': repeated_samples(0.10),
        'every third sample repeated': repeated_samples(1 / 3, regular=True),
        'neighbouring samples exchanged': exchanged_samples,
        'messages doubled, 3 %': doubled_messages(0.03),
        'messages out of order, 3 %': exchanged_messages(0.03),
        'state 40 ms late': late_state(40),
        'state 40 ms early': late_state(-40),
        'state 100 ms late': late_state(100),
        'state 60 ms late from the middle on': late_state(60, from_middle=True),
        'state 100 ms late from the middle on': late_state(100, from_middle=True),
        'tremor of 0.01 rad': tremor(0.01),
        'tremor of 0.03 rad': tremor(0.03),
        'idle 3 s at the start': idle('start', 3),
        'idle 4 s in the middle': idle('middle', 4),
        'idle 3 s at the end': idle('end', 3),
        'ended at a third': cut_short(0.33),
        'ended at 45 %': cut_short(0.45),
        'three times as long': slow(3),
        'exact copy': copy_of(other),
        'copy with noise of 0.005 rad': copy_of(other, noise=0.005),
        'copy warped in time': copy_of(other, warp=0.4),
        'copy warped, with noise of 0.01 rad': copy_of(other, warp=0.3, noise=0.01),
        'joint clipped in 25 % of the samples': clipped(0.25),
        'joint clipped in 40 % of the samples': clipped(0.4),
        'command clipped in 25 % of the samples': clipped(0.25, 'action'),
        'command clipped in 40 % of the samples': clipped(0.4, 'action'),
        "a joint's zero moved by 0.3 rad": displaced(0.3),
        'joint stuck for 1 s': stuck(1.0),
        'joint stuck for 1.5 s': stuck(1.5),
        'joint stuck for 2 s': stuck(2.0),
        'gap of 0.1 s': time_gap(0.1),
        'gap of 0.3 s': time_gap(0.3),
        'stamps scattered by 60 %': scattered(0.6),
        'stamps 50 ms back': backwards(50),
        'stamps 1 h ahead from here on': backwards(-3_600_000),
        'stamps standing for 0.3 s': standing_stamps,
    }

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from curation.align.grid import regular_grid
from curation.align.hold import hold, next_at_or_after
from curation.align.load import load_episode, load_episodes
from curation.align.options import AlignOptions, Interpolation, OnGap, Pairing
from curation.exceptions import AlignmentError, StreamError
from support.streams import (
    ACTION,
    CAMERA,
    images,
    JOINTS,
    joints,
    make_rig,
    MS,
    START_NS,
    STATE,
    times,
    usual,
    write,
)
from teleop_bridge.exceptions import JointError

stamps_lists = st.lists(st.integers(0, 10**12), min_size=1, max_size=60).map(sorted)


def test_clean_streams_give_the_newest_values_at_or_before_each_time(tmp_path: Path) -> None:
    episode = load_episode(write(tmp_path / 'bag', usual()))
    seconds = (episode.grid_ns - START_NS) / 1e9
    assert episode.grid_ns.dtype == np.int64
    assert np.all(np.diff(episode.grid_ns) == 40 * MS)
    age = episode.signals['state'].staleness_ns / 1e9
    np.testing.assert_allclose(episode.state[:, 0], seconds - age[:, 0], atol=1e-9)
    np.testing.assert_allclose(episode.state[:, 1], -episode.state[:, 0])
    assert episode.staleness_ns['front'].max() < 40 * MS
    assert episode.valid.all()


def test_shifted_stream_shows_its_shift_exactly(tmp_path: Path) -> None:
    streams = usual()
    span = {'start_ns': START_NS + 200 * MS, 'end_ns': START_NS + 1800 * MS}
    before = load_episode(write(tmp_path / 'a', streams), options=AlignOptions(**span))
    # the same motion, stamped 40 ms late: each sample is that of 40 ms earlier
    streams[STATE] = joints(times(200, 10), shift_ms=40)
    path = write(tmp_path / 'b', streams)
    after = load_episode(path, options=AlignOptions(**span))
    np.testing.assert_array_equal(before.grid_ns, after.grid_ns)
    np.testing.assert_allclose(before.state[:, 0] - after.state[:, 0], 0.040, atol=1e-12)
    declared = AlignOptions(**span, corrections_ns={'state': -40 * MS})
    np.testing.assert_array_equal(load_episode(path, options=declared).state, before.state)


@given(stamps_lists, stamps_lists)
def test_hold_never_uses_the_future_and_always_the_newest(
    stamps: list[int], grid: list[int]
) -> None:
    picked = hold(np.array(stamps), np.array(grid), None)
    for time, index in zip(grid, picked.index.tolist(), strict=True):
        past = [i for i, stamp in enumerate(stamps) if stamp <= time]
        assert index == (past[-1] if past else -1)


@given(stamps_lists, stamps_lists, st.integers(0, 10**10))
def test_next_is_the_first_at_or_after(stamps: list[int], grid: list[int], age: int) -> None:
    picked = next_at_or_after(np.array(stamps), np.array(grid), age)
    for k, time in enumerate(grid):
        later = [i for i, stamp in enumerate(stamps) if stamp >= time]
        assert picked.index[k] == (later[0] if later else -1)
        assert picked.fresh[k] == (bool(later) and stamps[later[0]] - time <= age)


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_no_sample_of_an_episode_comes_from_the_future(
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    gaps = st.lists(st.integers(1, 60), min_size=30, max_size=60)
    start, streams = START_NS, {}
    for name in (STATE, ACTION):
        stamps = START_NS + MS * np.cumsum(data.draw(gaps))
        streams[name] = joints(stamps.tolist())
    streams[CAMERA] = images((start + MS * np.cumsum(data.draw(gaps))).tolist())
    path = write(tmp_path_factory.mktemp('bags') / 'bag', streams)
    options = AlignOptions(rate=Fraction(100), on_gap=OnGap.MASK)
    try:
        episode = load_episode(path, options=options)
    except StreamError:  # the three did not overlap
        return
    for name, track in episode.tracks.items():
        used = track.valid
        if name == 'action':
            assert np.all(track.stamps_ns[used] >= episode.grid_ns[used])
        else:
            assert np.all(track.stamps_ns[used] <= episode.grid_ns[used])
    seconds = (episode.grid_ns - START_NS) / 1e9
    there = episode.signals['state'].valid
    assert np.all(episode.state[there, 0] <= seconds[there] + 1e-9)


def test_gap_is_an_error_that_names_stream_time_and_gap(tmp_path: Path) -> None:
    streams = usual()
    streams[STATE] = [m for i, m in enumerate(streams[STATE]) if not 100 <= i < 130]
    path = write(tmp_path / 'bag', streams)
    with pytest.raises(AlignmentError, match="stream 'state'") as caught:
        load_episode(path)
    error = caught.value
    last = START_NS + 990 * MS
    assert error.stream == 'state'
    assert last + 50 * MS < error.time_ns <= last + 90 * MS
    assert error.gap_ns == error.time_ns - last


def test_gap_can_be_masked_or_split(tmp_path: Path) -> None:
    streams = usual()
    streams[STATE] = [m for i, m in enumerate(streams[STATE]) if not 100 <= i < 130]
    path = write(tmp_path / 'bag', streams)
    masked = load_episode(path, options=AlignOptions(on_gap=OnGap.MASK))
    stale = masked.signals['state'].staleness_ns.max(axis=1) > 50 * MS
    np.testing.assert_array_equal(~masked.valid, stale)
    assert np.isnan(masked.state[stale]).all() and stale.any()
    parts = load_episodes(path, options=AlignOptions(on_gap=OnGap.SPLIT))
    assert [part.part for part in parts] == [0, 1]
    assert all(part.valid.all() for part in parts)
    np.testing.assert_array_equal(
        np.concatenate([part.state for part in parts]), masked.state[masked.valid]
    )


def test_gap_of_a_camera_is_found_too(tmp_path: Path) -> None:
    streams = usual()
    streams[CAMERA] = [m for i, m in enumerate(streams[CAMERA]) if not 20 <= i < 26]
    with pytest.raises(AlignmentError, match="stream 'front'"):
        load_episode(write(tmp_path / 'bag', streams))


def test_partial_publishers_in_any_order_are_merged_by_name(tmp_path: Path) -> None:
    streams = usual()
    halves = joints(times(200, 10), ('elbow', 'wrist_of_another_arm', 'shoulder'))
    rest = joints(times(100, 20, 4), ('gripper',))
    streams[STATE] = sorted(halves + rest)
    episode = load_episode(write(tmp_path / 'bag', streams))
    np.testing.assert_allclose(episode.state[:, 1], -episode.state[:, 0])
    assert np.all(episode.state[:, 2] == 0.5)
    ages = episode.signals['state'].staleness_ns
    assert np.all(ages[:, 0] == ages[:, 1]) and np.any(ages[:, 0] != ages[:, 2])


def test_joints_reordered_in_mid_bag_stay_with_their_names(tmp_path: Path) -> None:
    streams = usual()
    streams[STATE] = joints(times(100, 10)) + joints(times(100, 10, 1000), JOINTS[::-1])
    episode = load_episode(write(tmp_path / 'bag', streams))
    np.testing.assert_allclose(episode.state[:, 1], -episode.state[:, 0])


@pytest.mark.parametrize(
    ('names', 'message'),
    [
        (('shoulder', 'elbow'), "joint 'gripper' is in no message"),
        (('shoulder', 'elbow', 'elbow'), "joint 'elbow' is repeated"),
    ],
)
def test_bad_joint_names_are_errors_with_the_name(
    tmp_path: Path, names: tuple[str, ...], message: str
) -> None:
    streams = usual()
    streams[STATE] = joints(times(200, 10), names)
    with pytest.raises(JointError, match=message):
        load_episode(write(tmp_path / 'bag', streams))


def test_joint_that_is_not_finite_is_an_error_with_its_name(tmp_path: Path) -> None:
    from recorder.bag.messages import joint_state

    streams = usual()
    log, _ = streams[STATE][50]
    streams[STATE][50] = (log, joint_state(times(200, 10)[50], JOINTS, [0.0, float('nan'), 0.0]))
    path = write(tmp_path / 'bag', streams)
    with pytest.raises(JointError, match="joint 'elbow' is not finite"):
        load_episode(path)
    assert np.isfinite(load_episode(path, options=AlignOptions(on_gap=OnGap.MASK)).state).all()


def test_strict_rig_refuses_unknown_joints(tmp_path: Path) -> None:
    streams = usual()
    streams[STATE] = joints(times(200, 10), (*JOINTS, 'other'))
    path = write(tmp_path / 'bag', streams)
    load_episode(path)
    rig = make_rig(('robot_type: test_arm', 'robot_type: test_arm\nstrict_joints: true'))
    with pytest.raises(JointError, match="unknown joint 'other'"):
        load_episode(path, rig)


def test_missing_required_stream_and_wrong_type_are_named(tmp_path: Path) -> None:
    streams = usual()
    del streams[CAMERA]
    with pytest.raises(StreamError, match="required stream 'front'"):
        load_episode(write(tmp_path / 'a', streams))
    streams = usual()
    streams[CAMERA] = [
        (log, b'\x00\x01\x00\x00\x02\x00\x00\x00a\x00') for log, _ in streams[CAMERA]
    ]
    path = write(tmp_path / 'b', streams, types={CAMERA: 'std_msgs/msg/String'})
    with pytest.raises(StreamError, match='expected sensor_msgs/msg/Image on /camera/front'):
        load_episode(path)


def test_streams_that_do_not_overlap_are_named(tmp_path: Path) -> None:
    streams = usual()
    streams[CAMERA] = images(times(50, 40, 60_000))
    with pytest.raises(StreamError, match='are both on one clock'):
        load_episode(write(tmp_path / 'bag', streams))


def test_pairing_of_actions(tmp_path: Path) -> None:
    path = write(tmp_path / 'bag', usual())
    later = load_episode(path)
    assert later.action is not None and later.action_lag_ns.min() >= 0
    np.testing.assert_allclose(
        later.action[:, 0], (later.grid_ns + later.action_lag_ns - START_NS) / 1e9
    )
    held = load_episode(path, options=AlignOptions(pairing=Pairing.HOLD))
    assert held.action_lag_ns.max() <= 0


def test_interpolation_is_opt_in_and_leaves_grippers(tmp_path: Path) -> None:
    path = write(tmp_path / 'bag', usual())
    options = AlignOptions(
        interpolation={'state': Interpolation.LINEAR}, rate=Fraction(30000, 1001)
    )
    episode = load_episode(path, options=options)
    seconds = (episode.grid_ns - START_NS) / 1e9
    np.testing.assert_allclose(episode.state[:, 0], seconds, atol=1e-6)
    assert np.all(episode.state[:, 2] == 0.5)


def test_camera_can_be_the_clock(tmp_path: Path) -> None:
    path = write(tmp_path / 'bag', usual())
    episode = load_episode(path, options=AlignOptions(clock_stream='front'))
    assert episode.staleness_ns['front'].max() == 0
    for i in (0, 3):
        assert episode.frame('front', i)[0, 0, 0] == 100 + episode.indices['front'][i]


@given(
    st.integers(0, 10**18),
    st.integers(0, 10**13),
    st.fractions(min_value=Fraction(1, 10), max_value=1000, max_denominator=1001),
)
@settings(max_examples=50, deadline=None)
def test_rational_grid_never_drifts(start: int, span: int, rate: Fraction) -> None:
    span = min(span, int(2000 * 10**9 / rate))
    grid = regular_grid(start, start + span, rate)
    assert grid[0] == start and grid[-1] <= start + span
    for k in (len(grid) // 2, len(grid) - 1):
        assert int(grid[k]) - start == k * 10**9 * rate.denominator // rate.numerator


def test_grid_keeps_to_the_episode_of_the_recorder(tmp_path: Path) -> None:
    facts = f'{{"start_ns": {START_NS + 500 * MS}, "end_ns": {START_NS + 1500 * MS}}}'
    episode = load_episode(write(tmp_path / 'bag', usual(), episode=facts))
    assert episode.grid_ns[0] == START_NS + 500 * MS
    assert episode.grid_ns[-1] == START_NS + 1500 * MS


def test_same_input_gives_the_same_samples(tmp_path: Path) -> None:
    path = write(tmp_path / 'bag', usual())
    one, other = load_episode(path), load_episode(path)
    np.testing.assert_array_equal(one.state, other.state)
    assert one.id == other.id and len(one.id) == 64

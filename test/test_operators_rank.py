# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Smoothness tells operators of known skill apart, on the whole simulated rig."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

pytest.importorskip('mujoco', reason='needs the simulated rig: pip install mujoco')

from curation.scores.grasps import closings
from curation.scores.smoothness import smoothness
from recorder.headless import Attempt, HeadlessRig
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Role, Stream
from teleop_bridge.rig.tasks import load_tasks
from teleop_bridge.sim.skill import Script

SEEDS = range(4)


@pytest.fixture(scope='module')
def rig() -> HeadlessRig:
    tasks = load_tasks(data_file('config/tasks/pick_place.yaml'))
    return HeadlessRig(load_rig(data_file('config/rigs/so101_sim.yaml')), tasks.task('pick_place'))


def median_ranking(rig: HeadlessRig, skill: str, script: Script = Script.CLEAN) -> float:
    rankings = []
    for seed in SEEDS:
        stamps: list[int] = []
        joints: list[np.ndarray] = []

        def publish(
            stream: Stream,
            stamp_ns: int,
            _make: object,
            stamps: list[int] = stamps,
            joints: list[np.ndarray] = joints,
        ) -> None:
            if stream.role is Role.STATE:
                stamps.append(stamp_ns)
                joints.append(rig.sim.state().positions.copy())

        rig.run(Attempt(seed, skill=skill, script=script), publish)
        times = (np.array(stamps) - stamps[0]) / NANOSECONDS
        positions = np.array(joints)
        events = np.sort(times[np.concatenate(closings(positions[:, -1]))])
        rankings.append(smoothness(times, positions[:, :-1], events_s=events).ranking)
    return float(np.median(rankings))


def test_skill_and_a_jerky_hand_show_in_the_ranking(rig: HeadlessRig) -> None:
    better, okay, worse = (median_ranking(rig, skill) for skill in ('better', 'okay', 'worse'))
    assert better > okay > worse
    assert median_ranking(rig, 'better', Script.JERKY) < okay


def test_a_fumbled_grasp_is_not_less_smooth(rig: HeadlessRig) -> None:
    better, okay = (median_ranking(rig, skill) for skill in ('better', 'okay'))
    assert median_ranking(rig, 'better', Script.FUMBLE) > okay
    assert better > okay


def test_what_says_nothing_about_a_hand_hardly_moves_the_ranking(rig: HeadlessRig) -> None:
    stamps: list[int] = []
    joints: list[np.ndarray] = []

    def publish(stream: Stream, stamp_ns: int, _make: object) -> None:
        if stream.role is Role.STATE:
            stamps.append(stamp_ns)
            joints.append(rig.sim.state().positions[:-1].copy())

    rig.run(Attempt(3, skill='okay'), publish)
    times, positions = (np.array(stamps) - stamps[0]) / NANOSECONDS, np.array(joints)
    base, step = smoothness(times, positions).ranking, times[1]

    def ranking(values: np.ndarray, rate: float) -> float:
        return smoothness(np.arange(len(values)) / rate, values).ranking

    repeated = ranking(np.concatenate([positions, positions[::-1]] * 2), 1 / step)
    paused = ranking(np.concatenate([positions, [positions[-1]] * round(5 / step)]), 1 / step)
    sampled = []
    for rate in (30, 60, 200, 500):
        grid = np.arange(0, times[-1], 1 / rate)
        even = np.stack([CubicSpline(times, column)(grid) for column in positions.T], axis=1)
        noise = np.random.default_rng(rate).normal(0, 1e-4, even.shape) if rate == 200 else 0
        sampled.append(ranking(even + noise, rate))
    assert [repeated, paused, *sampled] == pytest.approx([base] * 6, rel=0.05)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The headless rig records what the live one would, the same every time."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
import json
from pathlib import Path

import numpy as np
import pytest

from curation.bag.reader import open_bag
from recorder.episode import ClosedEpisode
from recorder.headless import Attempt, Driver, HeadlessRig, Result, Start
from recorder.headless_cameras import headless_variant, HeadlessCameras
from recorder.headless_session import HeadlessSession
from teleop_bridge.exceptions import RigError
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig, Role
from teleop_bridge.rig.tasks import load_tasks
from teleop_bridge.sim.flawed import FlawedPolicy
from teleop_bridge.sim.skill import Script
from teleop_bridge.vocabulary import Grade

pytestmark = pytest.mark.skipif(
    find_spec('mujoco') is None, reason='the simulated rig needs pip install mujoco'
)

FULL = load_rig(data_file('config/rigs/so101_sim.yaml'))
TASKS = load_tasks(data_file('config/tasks/pick_place.yaml'))
TASK = TASKS.task('pick_place')
JOINTS_ONLY = headless_variant(FULL)


@pytest.fixture(scope='module')
def headless() -> HeadlessRig:
    return HeadlessRig(JOINTS_ONLY, TASK, policy=FlawedPolicy(JOINTS_ONLY))


def record(
    headless: HeadlessRig, rig: Rig, output: Path, attempt: Attempt
) -> tuple[Result, ClosedEpisode]:
    session = HeadlessSession(
        headless, rig, TASKS, TASK, output=output, session_id='s', operator_id='op'
    )
    return session.record(attempt)


def test_one_seed_gives_one_bag(headless: HeadlessRig, tmp_path: Path) -> None:
    ids = {
        record(headless, JOINTS_ONLY, tmp_path / name, Attempt(3))[1].id for name in ('a', 'b')
    }
    other = record(headless, JOINTS_ONLY, tmp_path / 'c', Attempt(4))[1].id
    assert len(ids) == 1
    assert other not in ids


def test_every_stream_of_a_clean_episode_is_in_its_bag(
    headless: HeadlessRig, tmp_path: Path
) -> None:
    result, closed = record(headless, JOINTS_ONLY, tmp_path, Attempt(1, start=Start((0.2, 0.0))))
    assert result.grade is Grade.SUCCESS_FIRST_TRY
    assert result.start_cube[:2] == pytest.approx((0.2, 0.0), abs=1e-3)
    bag = open_bag(closed.path)
    assert json.loads(bag.custom_data['session'])['extra']['headless']['seed'] == 1
    counts = dict.fromkeys((stream.topic for stream in JOINTS_ONLY.streams), 0)
    for message in bag.messages():
        counts[message.topic] += 1
    ticks = counts.pop('joint_states')
    assert ticks == round((result.end_ns - closed.facts.start_ns) / 1e7)
    silent = {stream.topic for stream in JOINTS_ONLY.streams if not stream.required}
    assert {topic for topic, count in counts.items() if count != ticks} == silent


def test_a_fumbled_grasp_is_graded_so(headless: HeadlessRig) -> None:
    result = headless.run(Attempt(3, script=Script.FUMBLE))
    assert result.grade is Grade.SUCCESS_AFTER_RETRIES


def test_a_policy_is_corrected_and_the_reason_named(
    headless: HeadlessRig, tmp_path: Path
) -> None:
    attempt = Attempt(4, driver=Driver.CORRECTED)
    result, closed = record(headless, JOINTS_ONLY, tmp_path, attempt)
    assert (result.interventions, result.grade) == (1, Grade.SUCCESS_AFTER_RETRIES)
    bag = open_bag(closed.path)
    decode = bag.decoder('intervention').decode
    events = [decode(message.data) for message in bag.messages(topics=['intervention'])]
    assert [event.event for event in events] == [0, 1, 2, 1, 3]  # converges after each handover
    assert {event.id for event in events} == {events[0].id}
    assert events[-1].reason == 'grasp missed'
    decode = bag.decoder('authority').decode
    weights = np.array([decode(m.data).weight for m in bag.messages(topics=['authority'])])
    assert (weights[0], weights.max(), weights[-1]) == (0.0, 1.0, 0.0)
    assert np.abs(np.diff(weights)).max() < 0.2  # a ramp, not a switch


def test_the_flawed_policy_alone_fails(headless: HeadlessRig) -> None:
    result = headless.run(Attempt(5, driver=Driver.POLICY, limit_ns=9_000_000_000))
    assert result.grade is Grade.FAILURE


def test_cameras_of_another_size_are_recorded(tmp_path: Path) -> None:
    rig = headless_variant(FULL, width=160, height=120)
    small = HeadlessRig(rig, TASK, cameras=HeadlessCameras(rig))
    attempt = Attempt(1, limit_ns=400_000_000)
    _, closed = record(small, rig, tmp_path, attempt)
    bag = open_bag(closed.path)
    (front,) = (stream for stream in rig.by_role(Role.CAMERA) if stream.name == 'front')
    decode = bag.decoder(front.topic).decode
    frames = [decode(message.data) for message in bag.messages(topics=[front.topic])]
    seconds = (closed.facts.end_ns - closed.facts.start_ns) / 1e9
    assert len(frames) == pytest.approx(30 * seconds, abs=1.5)
    assert (frames[0].width, frames[0].height, frames[0].encoding) == (160, 120, 'rgb8')
    assert np.asarray(frames[0].data).std() > 10


def test_a_policy_attempt_without_a_policy_is_refused() -> None:
    with pytest.raises(RigError, match='driven by corrected needs a policy'):
        HeadlessRig(JOINTS_ONLY, TASK).run(Attempt(1, driver=Driver.CORRECTED))


def test_another_arm_is_refused() -> None:
    other = replace(JOINTS_ONLY, joints=JOINTS_ONLY.joints[1:])
    with pytest.raises(RigError, match='joints: the simulated arm has shoulder_pan'):
        HeadlessRig(other, TASK)

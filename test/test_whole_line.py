# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The whole line on real nodes over Fast DDS: operate, correct a policy, record, refine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pytest

pytest.importorskip('rclpy', reason='needs ROS 2')
pytest.importorskip('mujoco', reason='needs the simulated rig: pip install mujoco')

from curation.bag.reader import open_bag
from curation.demo.plan import PLAN
from curation.demo.play import Recorded
from curation.demo.record import record
from curation.demo.refine import refine, Refined
from recorder.bag.content_id import content_id
from support.live import new_domain
from teleop_bridge.vocabulary import InterventionEvent, Phase

RAMP_S = 0.150
SHARE = 0.2       # of the rig's rates: slow machines run this too
PERIOD_S = 0.050


@dataclass(frozen=True)
class Line:
    """What came of one clean and two corrected attempts."""

    recorded: list[Recorded]
    told: list[str]
    refined: Refined


@pytest.fixture(scope='module')
def line(tmp_path_factory: pytest.TempPathFactory) -> Line:
    out = tmp_path_factory.mktemp('line')
    told: list[str] = []
    recorded = record(
        out,
        tell=told.append,
        domain_id=new_domain(),
        attempts=(PLAN[0], *PLAN[-2:]),
        shares=(SHARE,),
    )
    return Line(recorded, told, refine(recorded, out, advance=lambda *_: None))


def messages(bag: Path, topic: str) -> list[Any]:
    with open_bag(bag) as reader:
        decode = reader.decoder(topic).decode
        return [decode(bytes(message.data)) for message in reader.messages([topic])]


def times_s(found: list[Any]) -> NDArray[np.float64]:
    return np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in found])


def test_every_process_ends_cleanly(line: Line) -> None:
    titles = [entry.attempt.title for entry in line.recorded]
    assert [said for said in line.told if said not in titles] == [
        'starting the rig: simulation, operator, leader, follower, policy, recorder'
    ]


def test_ids_agree_wherever_they_are_computed(line: Line) -> None:
    for entry, score in zip(line.recorded, line.refined.scores, strict=True):
        assert entry.episode_id == content_id(entry.bag) == score.episode_id


def test_latched_topics_are_in_every_bag(line: Line) -> None:
    for entry in line.recorded:
        for topic in ('/session/clock_offset', '/robot_description', '/policy/status'):
            assert messages(entry.bag, topic), (entry.bag, topic)


def test_three_proposals_stay_apart(line: Line) -> None:
    corrected = line.recorded[1].bag
    human = messages(corrected, '/leader/command')
    policy = messages(corrected, '/policy/command')
    sent = messages(corrected, '/follower/command')
    authority = messages(corrected, '/authority')
    alone = [m for m in authority if m.phase == Phase.POLICY]
    at = times_s(alone)[len(alone) // 2]

    def near(found: list[Any]) -> NDArray[np.float64]:
        message = found[int(np.argmin(np.abs(times_s(found) - at)))]
        by_name = dict(zip(message.name, message.position, strict=True))
        return np.array([by_name[name] for name in sorted(by_name)])

    assert np.abs(near(sent) - near(policy)).max() < 0.1
    assert np.abs(near(sent) - near(human)).max() > 0.2


def test_authority_ramps_smoothly_in_150_ms(line: Line) -> None:
    authority = messages(line.recorded[1].bag, '/authority')
    begin = next(i for i, m in enumerate(authority) if m.intervention_id)
    ramp = [m for m in authority[begin:] if m.phase == Phase.TO_HUMAN]
    weights = np.array([m.weight for m in ramp])
    times = times_s(ramp)
    assert np.all(np.diff(weights) >= 0)
    # smoothstep, which is what the weight of each period follows, whenever the period began
    share = (times - times[0]) / RAMP_S
    start = np.arange(0, 2 * PERIOD_S, 1e-4)[:, None] / RAMP_S
    curve = np.clip(share + start, 0, 1)
    error = np.abs(3 * curve**2 - 2 * curve**3 - weights).max(axis=1)
    assert error.min() < 0.02


def test_an_intervention_is_one_story_with_one_id(line: Line) -> None:
    clean, corrected, _ = (entry.bag for entry in line.recorded)
    assert not messages(clean, '/intervention')
    story = messages(corrected, '/intervention')
    assert len({event.id for event in story}) == 1
    kinds = [event.event for event in story]
    assert kinds[:3] == [
        InterventionEvent.BEGIN, InterventionEvent.CONVERGED, InterventionEvent.END,
    ]
    assert kinds[-1] == InterventionEvent.LABEL
    assert (story[-1].kind, story[-1].reason) == ('goal', 'grasp missed')
    ids = {m.intervention_id for m in messages(corrected, '/authority')}
    assert ids == {'', story[0].id}


def test_takeovers_by_motion_and_by_pedal_are_told_apart(line: Line) -> None:
    triggers = [
        {event.trigger for event in messages(entry.bag, '/intervention')}
        for entry in line.recorded
    ]
    assert triggers == [set(), {'leader_motion'}, {'button'}]


def test_what_was_recorded_is_scored_and_shown(line: Line) -> None:
    clean, corrected, by_pedal = line.refined.scores
    assert (clean.interventions, corrected.interventions, by_pedal.interventions) == (0, 1, 1)
    assert clean.human_share == 1.0
    assert 0.1 < corrected.human_share < 0.9
    assert line.refined.report.is_file()
    if not line.refined.left_out:
        assert line.refined.dataset is not None

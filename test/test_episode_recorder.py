# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""An episode's folder tells its whole story: facts from the start, statistics, verified or not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recorder.bag.content_id import content_id
from recorder.bag.mcap_reader import bag_file, read_facts
from recorder.capture import Capture
from recorder.episode import discard, EpisodeRecorder, verify
from recorder.exceptions import BagCorruptError, BagExistsError
from recorder.facts import EpisodeFacts, from_json, read_sidecar, SessionFacts
from support.bags import joint_state, START_NS, STEP_NS, topic
from teleop_bridge.vocabulary import Grade

SESSION = SessionFacts(
    's1',
    operator_id='op3',
    task='pick',
    location='left',
    episode_index=7,
    start_ns=START_NS,
    policy_checkpoint='abc',
)


def recorder(tmp_path: Path) -> tuple[EpisodeRecorder, Capture]:
    capture = Capture()
    capture.add_topic(topic('/joint_states', 'sensor_msgs/msg/JointState'), expected_hz=100.0)
    return EpisodeRecorder(tmp_path, capture, SESSION, files={'rig': 'name: x\n'}), capture


def feed(capture: Capture, count: int = 50) -> int:
    for i in range(count):
        stamp = START_NS + i * STEP_NS
        capture.arrived('/joint_states', joint_state(stamp, (i, i)), stamp, stamp, i)
    return START_NS + count * STEP_NS


def test_facts_statistics_and_id(tmp_path: Path) -> None:
    episode, capture = recorder(tmp_path)
    assert episode.path == tmp_path / 's1' / 's1_op3_e0007'
    assert read_sidecar(episode.path)['state'] == 'recording'
    closed = episode.close(feed(capture), grade=Grade.PARTIAL, note='slipped')
    assert closed.id == content_id(closed.path) and not closed.error
    facts = read_facts(bag_file(closed.path))
    assert facts['rig'] == 'name: x\n'
    assert from_json(SessionFacts, facts['session'], 'bag') == SESSION
    ended = from_json(EpisodeFacts, facts['episode'], 'bag')
    assert (ended.grade, ended.note, ended.end_reason) == ('partial', 'slipped', 'graded')
    (stream,) = ended.streams
    assert (stream['received'], stream['expected'], stream['lost'], stream['gaps']) == (
        50,
        50,
        0,
        0,
    )
    assert read_sidecar(closed.path)['state'] == 'closed'
    assert verify(closed) == verify(closed, apart=True) == closed.id
    assert read_sidecar(closed.path)['state'] == 'saved'


def test_altered_bag_is_never_called_saved(tmp_path: Path) -> None:
    episode, capture = recorder(tmp_path)
    closed = episode.close(feed(capture))
    path = bag_file(closed.path)
    data = bytearray(path.read_bytes())
    data[data.index(b'shoulder', 4000)] ^= 1
    path.write_bytes(data)
    for apart in (False, True):
        with pytest.raises(BagCorruptError, match='s1_op3_e0007'):
            verify(closed, apart=apart)
    assert read_sidecar(closed.path)['state'] != 'saved'


def test_discarded_bags_move_aside_and_never_collide(tmp_path: Path) -> None:
    places = []
    for _ in range(2):
        episode, capture = recorder(tmp_path)
        episode.close(feed(capture, 3))
        places.append(discard(episode.path))
    assert [place.name for place in places] == ['s1_op3_e0007', 's1_op3_e0007_2']
    assert all(place.parent == tmp_path / 's1' / 'discarded' for place in places)
    assert len(content_id(places[0])) == 64


def test_existing_episode_is_never_overwritten(tmp_path: Path) -> None:
    episode, capture = recorder(tmp_path)
    episode.close(feed(capture))
    with pytest.raises(BagExistsError):
        recorder(tmp_path)


def test_facts_of_a_newer_version_and_broken_ones() -> None:
    text = json.dumps({'session_id': 'x', 'from_the_future': 1})
    assert from_json(SessionFacts, text, 'bag').session_id == 'x'
    with pytest.raises(BagCorruptError, match='bag: expected EpisodeFacts as JSON'):
        from_json(EpisodeFacts, '[]', 'bag')

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A session continues where it stood; a killed episode is recovered and does not count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import shutil

from recorder.bag.mcap_reader import bag_file, read_facts, read_messages
from recorder.capture import Capture
from recorder.episode import discard, EpisodeRecorder, verify
from recorder.facts import EndReason, EpisodeFacts, from_json, read_sidecar, SessionFacts
from recorder.offload import offload
from recorder.resume import read_history, recover
from recorder.session import Kept
from support.bags import joint_state, START_NS, STEP_NS, topic
from teleop_bridge.vocabulary import Grade

SESSION = SessionFacts('s1', operator_id='op', location='left', start_ns=START_NS)


def begin(folder: Path, index: int, messages: int = 200) -> EpisodeRecorder:
    capture = Capture()
    capture.add_topic(topic('/joint_states', 'sensor_msgs/msg/JointState'))
    episode = EpisodeRecorder(
        folder, capture, replace(SESSION, episode_index=index), files={'rig': 'name: x\n'}
    )
    for i in range(messages):
        stamp = START_NS + i * STEP_NS
        capture.arrived('/joint_states', joint_state(stamp, (i, i)), stamp, stamp)
    return episode


def killed(folder: Path, index: int) -> Path:
    """Leave behind what a recorder leaves that was killed just after a sync."""
    episode = begin(folder, index)
    episode.writer.sync()
    saved = folder / 'as_killed'
    shutil.copytree(episode.path, saved)
    episode.close(START_NS)
    shutil.rmtree(episode.path)
    saved.rename(episode.path)
    return episode.path


def test_history_of_kept_cancelled_interrupted_and_killed(tmp_path: Path) -> None:
    verify(begin(tmp_path, 0).close(START_NS, grade=Grade.PARTIAL))
    begin(tmp_path, 1).close(START_NS, reason=EndReason.CANCELLED)
    discard(tmp_path / 's1/s1_op_e0001')
    begin(tmp_path, 2).close(START_NS, reason=EndReason.INTERRUPTED)
    begin(tmp_path, 3).close(START_NS, reason=EndReason.TIME_LIMIT)
    lost = killed(tmp_path, 4)
    history = read_history(tmp_path / 's1')
    assert history.kept == (Kept(0, 'left', 'partial'), Kept(3, 'left', ''))
    assert history.attempts == 5
    assert history.unfinished == (lost,)
    assert read_history(tmp_path / 'absent').attempts == 0


def test_killed_episode_is_recovered_once_and_its_original_stays(tmp_path: Path) -> None:
    bag = killed(tmp_path, 0)
    before = {path.name: path.read_bytes() for path in bag.iterdir()}
    found = recover(bag)
    assert not found.error and found.messages == 200
    assert found.path == bag.with_name('s1_op_e0000_recovered')
    assert {path.name: path.read_bytes() for path in bag.iterdir()} == before
    assert len(list(read_messages(bag_file(found.path)))) == 200
    facts = read_facts(bag_file(found.path))
    assert from_json(EpisodeFacts, facts['episode'], 'bag').end_reason == 'recovered'
    assert from_json(SessionFacts, facts['session'], 'bag').location == 'left'
    assert read_sidecar(found.path)['state'] == 'recovered'
    history = read_history(tmp_path / 's1')
    assert history.unfinished == () and history.kept == () and history.attempts == 1


def test_recovery_that_was_cut_short_is_done_again(tmp_path: Path) -> None:
    bag = killed(tmp_path, 0)
    half = bag.with_name('s1_op_e0000_recovered')
    half.mkdir()
    (half / 'x_0.mcap').write_bytes(b'half')
    assert read_history(tmp_path / 's1').unfinished == (bag,)
    assert recover(bag).messages == 200


def test_what_cannot_be_recovered_says_why(tmp_path: Path) -> None:
    bag = killed(tmp_path, 0)
    bag_file(bag).write_bytes(b'')
    assert 's1_op_e0000_0.mcap: ' in recover(bag).error


def test_offloaded_episodes_still_count(tmp_path: Path) -> None:
    for index in (0, 1):
        verify(begin(tmp_path, index).close(START_NS, grade=Grade.PARTIAL))
    before = read_history(tmp_path / 's1')
    moved = offload(tmp_path / 's1/s1_op_e0001', str(tmp_path / 'disk'), free=True)
    left = tmp_path / 's1/s1_op_e0001'
    assert [path.name for path in left.iterdir()] == ['episode.json']
    assert read_sidecar(left)['offloaded_to'] == moved.target
    assert read_history(tmp_path / 's1') == before and before.attempts == 2

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A recorder killed at any moment, or a power cut, costs at most the last second."""

from __future__ import annotations

from dataclasses import replace
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import time

import pytest

from recorder.bag import mcap_file
from recorder.bag.definitions import typestore
from recorder.bag.mcap_reader import bag_file, read_messages
from recorder.bag.salvage import salvage
from recorder.capture import Capture
from recorder.episode import EpisodeRecorder, verify
from recorder.facts import SessionFacts
from recorder.resume import read_history, recover
from support import recording_child
from support.bags import joint_state, START_NS, topic
from support.storages import STORAGES
from teleop_bridge.vocabulary import Grade

SECOND_NS = 1_000_000_000
SLACK = 40  # joint states: 0.2 s for a test machine that schedules late


def record_and_kill(output: Path, index: int, seconds: float, storage: str) -> int:
    """Record for some time, SIGKILL, and return the number of the last message handed over."""
    child = subprocess.Popen(
        [sys.executable, recording_child.__file__, str(output), str(index), storage],
        stdout=subprocess.PIPE,
        text=True,
    )
    first = child.stdout.readline()
    assert first, 'the recording process did not start'
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    rest, _ = child.communicate(timeout=30)
    lines = [line for line in (first + rest).split('\n')[:-1] if line]
    return int(lines[-1])


def check_killed(output: Path, index: int, seconds: float, storage: str) -> None:
    last = record_and_kill(output, index, seconds, storage)
    bag = output / 's' / f's_e{index:04d}'
    before = {path.name: path.read_bytes() for path in bag.iterdir()}
    found = recover(bag)
    assert not found.error
    assert {path.name: path.read_bytes() for path in bag.iterdir()} == before
    numbers = [
        int(typestore().deserialize_cdr(m.data, m.type).position[0])
        for m in read_messages(bag_file(found.path))
        if m.topic == '/joint_states'
    ]
    assert numbers == list(range(len(numbers)))
    at_risk = last + 1 - len(numbers)
    assert at_risk <= SECOND_NS // recording_child.PERIOD_NS + SLACK


def earlier_episode(output: Path, storage: str) -> dict[Path, bytes]:
    """Record and save an episode that nothing later may touch."""
    capture = Capture()
    capture.add_topic(topic('/joint_states', 'sensor_msgs/msg/JointState'))
    facts = SessionFacts('s', start_ns=START_NS)
    episode = EpisodeRecorder(output, capture, facts, files={}, storage=storage)
    capture.arrived('/joint_states', joint_state(START_NS, (0.0, 0.0)), START_NS, START_NS)
    verify(episode.close(START_NS + 1, grade=Grade.PARTIAL))
    return {path: path.read_bytes() for path in episode.path.iterdir()}


def check_kills(output: Path, moments: list[float], storage: str) -> None:
    earlier = earlier_episode(output, storage)
    for index, seconds in enumerate(moments, start=1):
        check_killed(output, index, seconds, storage)
    assert {path: path.read_bytes() for path in earlier} == earlier
    history = read_history(output / 's')
    assert [kept.index for kept in history.kept] == [0]
    assert history.attempts == len(moments) + 1 and history.unfinished == ()


@pytest.mark.parametrize('storage', STORAGES)
def test_kill_costs_at_most_a_second(tmp_path: Path, storage: str) -> None:
    check_kills(tmp_path, [1.7], storage)


@pytest.mark.faults
@pytest.mark.timeout(900)
@pytest.mark.parametrize('storage', STORAGES)
def test_kill_at_fifty_random_moments(tmp_path: Path, storage: str) -> None:
    check_kills(tmp_path, [random.uniform(0.5, 3.0) for _ in range(50)], storage)


@pytest.mark.parametrize('count', [1, pytest.param(10, marks=pytest.mark.faults)])
def test_power_cut_leaves_the_file_to_its_last_sync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Cut the file where the last fdatasync left it: what is older than a second must be there."""
    synced: dict[str, int] = {}
    real = os.fdatasync

    def fdatasync(descriptor: int) -> None:
        size = os.fstat(descriptor).st_size
        real(descriptor)
        synced['size'] = size

    monkeypatch.setattr(mcap_file.os, 'fdatasync', fdatasync)
    for index in range(count):
        capture = Capture()
        capture.add_topic(topic('/joint_states', 'sensor_msgs/msg/JointState'))
        facts = replace(SessionFacts('s', start_ns=START_NS), episode_index=index)
        episode = EpisodeRecorder(tmp_path, capture, facts, files={})
        begun, number = time.monotonic_ns(), 0
        arrived: list[int] = []
        while time.monotonic_ns() - begun < random.uniform(1.5, 2.0) * SECOND_NS:
            time.sleep(0.005)
            stamp = START_NS + number
            capture.arrived('/joint_states', joint_state(stamp, (number, 0)), stamp, stamp)
            arrived.append(time.monotonic_ns())
            number += 1
        cut_ns, size = time.monotonic_ns(), synced['size']
        content = bag_file(episode.path).read_bytes()[:size]
        capture.finish(START_NS)
        episode.writer.close()
        cut = tmp_path / f'cut{index}'
        cut.mkdir()
        (cut / 'cut_0.mcap').write_bytes(content)
        found = salvage(cut, tmp_path / f'new{index}')
        due = sum(at < cut_ns - SECOND_NS for at in arrived)
        assert found.counts['/joint_states'] >= due > 50

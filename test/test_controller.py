# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Commands, time limits and a failing disk, from the operator's view and without a middleware."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
import shutil

import pytest

from recorder import controller as module
from recorder.bag import mcap_file
from recorder.bag.files import measure_write_rate
from recorder.bag.mcap_reader import bag_file, read_facts, read_messages
from recorder.capture import Capture
from recorder.controller import Controller, RecorderOptions
from recorder.evaluation import interleave, Trial
from recorder.exceptions import SessionError
from recorder.facts import EpisodeFacts, from_json, read_sidecar, SessionFacts
from recorder.gate import Fault
from recorder.proposals import Proposal
from recorder.resume import read_history
from recorder.session import Plan
from support.bags import joint_state, topic
from teleop_bridge.clock import SessionClock
from teleop_bridge.rig.loader import parse_rig
from teleop_bridge.rig.tasks import Location, Task
from teleop_bridge.vocabulary import Grade, SessionKind, SessionState

RIG = parse_rig("""
rig: tiny
joints: {a: {}}
streams:
  state: {topic: /state, type: sensor_msgs/msg/JointState, role: state, rate_hz: 100,
          max_age_ms: 100}
""")
PERIOD = 10_000_000


class SteppedClock(SessionClock):
    """A session clock that the test moves."""

    now = 1_700_000_000_000_000_000

    def now_ns(self) -> int:
        return SteppedClock.now


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Controller]:
    def make(**options: object) -> Controller:
        defaults: dict[str, object] = {
            'rig': RIG,
            'output': tmp_path,
            'session_id': 's',
            'disk_floor': 1000,
        }
        return Controller(RecorderOptions(**{**defaults, **options}), Capture(), SteppedClock(0))

    return make


def run(controller: Controller, messages: int = 100) -> None:
    controller.capture.add_topic(topic('/state', 'sensor_msgs/msg/JointState'), expected_hz=100.0)
    for _ in range(messages):
        SteppedClock.now += PERIOD
        now = SteppedClock.now
        controller.capture.arrived('/state', joint_state(now, (0.0, 0.0)), now, now)


def end_reason(bag: Path) -> str:
    return from_json(EpisodeFacts, read_facts(bag_file(bag))['episode'], 'bag').end_reason


def test_start_needs_the_gate_and_end_saves_a_verified_bag(
    make: Callable[..., Controller],
) -> None:
    controller = make()
    assert 'nobody publishes /state' in str(controller.arm()[0])
    with pytest.raises(SessionError, match='start: expected the session to be armed, found it id'):
        controller.start()
    run(controller)
    assert controller.arm() == []
    started = controller.start(location='left')
    run(controller)
    assert controller.status().location == 'left'
    outcome = controller.end(Grade.SUCCESS_FIRST_TRY)
    controller.wait_verified()
    assert [error for _, error in controller.verified] == ['']
    assert outcome.bag == started.bag and len(outcome.episode_id) == 64
    assert read_sidecar(outcome.bag)['state'] == 'saved'
    assert len(list(read_messages(bag_file(outcome.bag)))) == 100
    assert controller.status().done == 1 and controller.status().grade == 'success_first_try'


def test_many_faults_are_counted_where_an_operator_reads(
    make: Callable[..., Controller], monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = make()
    found = [Fault(f'stream {number}', 'silent', 'wake it') for number in range(5)]
    monkeypatch.setattr(controller, 'faults', lambda: found)
    assert controller.arm() == found
    assert controller.message == 'stream 0: silent; wake it. stream 1: silent; wake it. And 3 more'
    del found[2:]
    controller.arm()
    assert controller.message == 'stream 0: silent; wake it. stream 1: silent; wake it'


def test_gate_disarms_when_a_stream_dies(make: Callable[..., Controller]) -> None:
    controller = make()
    run(controller)
    controller.arm()
    SteppedClock.now += 10**9
    assert 'last message 1000 ms ago' in str(controller.arm()[0])
    assert controller.session.state is SessionState.IDLE


def test_time_limit_ends_an_episode_that_counts(make: Callable[..., Controller]) -> None:
    controller = make(plan=Plan(episode_limit_ns=2 * 10**9))
    run(controller)
    controller.arm()
    controller.start()
    run(controller, 199)
    assert controller.tick() is None
    run(controller, 1)
    outcome = controller.tick()
    assert outcome is not None and end_reason(outcome.bag) == 'time_limit'
    assert controller.session.done == 1


def test_disk_floor_closes_the_bag_before_the_disk_is_full(
    make: Callable[..., Controller], monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = make()
    run(controller)
    controller.arm()
    controller.start()
    run(controller, 50)
    usage = shutil.disk_usage('/')
    monkeypatch.setattr(module.shutil, 'disk_usage', lambda path: usage._replace(free=999))
    outcome = controller.tick()
    assert outcome is not None and end_reason(outcome.bag) == 'disk_floor'
    assert len(list(read_messages(bag_file(outcome.bag)))) == 50
    assert controller.session.done == 0 and controller.session.state is SessionState.RESET
    assert 'free some space' in str(controller.arm()[0])


def test_full_disk_keeps_what_it_took_and_says_so(
    make: Callable[..., Controller], monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = make()
    run(controller)
    controller.arm()
    controller.start()
    run(controller, 50)
    controller.episode.writer.sync()
    real = mcap_file.os.write
    full = [True]

    def write(descriptor: int, data: bytes) -> int:
        if full[0]:
            real(descriptor, data[:40])  # a torn record, as a filling disk leaves it
            raise OSError(28, 'No space left on device')
        return real(descriptor, data)

    monkeypatch.setattr(mcap_file.os, 'write', write)
    run(controller, 1000)
    with pytest.raises(Exception, match='the disk is full'):
        controller.episode.writer.sync()
    full[0] = False
    outcome = controller.tick()
    assert outcome is not None and 'the disk is full' in outcome.message
    facts = from_json(EpisodeFacts, read_facts(bag_file(outcome.bag))['episode'], 'bag')
    (stream,) = facts.streams
    found = list(read_messages(bag_file(outcome.bag)))
    assert facts.end_reason == 'disk_error'
    assert len(found) >= 50 and len(found) + stream['unwritten'] == stream['received'] == 1050
    assert controller.session.done == 0


def test_dry_run_records_nothing(make: Callable[..., Controller], tmp_path: Path) -> None:
    controller = make(kind=SessionKind.DRY_RUN)
    run(controller)
    controller.arm()
    controller.start()
    controller.end(Grade.FAILURE)
    assert list(tmp_path.iterdir()) == []


def test_evaluation_interleaves_checkpoints_and_tells_only_the_place(
    make: Callable[..., Controller],
) -> None:
    trials = interleave(['a', 'b'], ['left', 'right'], repeats=2, seed='s')
    controller = make(kind=SessionKind.EVALUATION, trials=trials)
    met = []
    for _ in range(8):
        run(controller)
        controller.arm()
        assert controller.trial.checkpoint not in controller.message.split()
        bag = controller.start().bag
        run(controller, 3)
        controller.end(Grade.PARTIAL)
        facts = from_json(SessionFacts, read_facts(bag_file(bag))['session'], 'bag')
        met.append(Trial(facts.policy_checkpoint, facts.location))
    assert tuple(met) == trials
    assert controller.trial is None


def test_a_proposal_is_told_recorded_and_found_again(make: Callable[..., Controller]) -> None:
    task = Task('pick', 'Pick it up.', (Location('B', 'on the left'),))
    controller = make(task=task, plan=Plan(proposals=(Proposal((0.21, -0.08), 'B'),)))
    run(controller)
    controller.arm()
    place = '(0.210, -0.080) m, near B'
    assert controller.message == f'ready: put the object at {place} (on the left)'
    assert controller.status().location == ''
    controller.start(task=Task('other', 'Do otherwise.'))
    controller.end(Grade.PARTIAL)
    assert controller.message.endswith(f'next, put the object at {place} (on the left)')
    run(controller)
    controller.arm()
    bag = controller.start(task=task).bag
    assert controller.message == f'recording episode 1 at {place}'
    controller.end(Grade.PARTIAL)
    assert 'put the object' not in controller.message
    facts = from_json(SessionFacts, read_facts(bag_file(bag))['session'], 'bag')
    assert facts.extra['proposal'] == {'xy': [0.21, -0.08], 'near': 'B'}
    controller.wait_verified()
    assert read_history(bag.parent).kept == tuple(controller.session.kept)
    assert [kept.proposed for kept in controller.session.kept] == [None, (0.21, -0.08)]


def test_changed_calibration_closes_the_gate(
    make: Callable[..., Controller], tmp_path: Path
) -> None:
    (tmp_path / 'arm.json').write_text('{}')
    text = RIG.text + 'devices: {arm: {calibration: arm.json}}\n'
    controller = make(rig=parse_rig(text, str(tmp_path / 'rig.yaml')))
    run(controller)
    assert controller.arm() == []
    (tmp_path / 'arm.json').write_text('{"changed": 1}')
    (fault,) = controller.arm()
    assert str(fault).startswith('arm.json: this calibration changed since the session began')
    assert controller.session.state is SessionState.IDLE


def test_disk_slower_than_the_streams_closes_the_gate(make: Callable[..., Controller]) -> None:
    controller = make(write_rate=10.0)
    run(controller)
    (fault,) = controller.arm()
    assert 'use a faster disk' in str(fault)
    assert measure_write_rate(controller.options.output, size=2_000_000) > 0
    assert list(controller.options.output.iterdir()) == []


def test_session_file_says_what_was_asked_for(make: Callable[..., Controller]) -> None:
    controller = make(plan=Plan(episodes_per_block=4, blocks=3, targets={'left': 6}))
    run(controller)
    controller.arm()
    bag = controller.start().bag
    controller.cancel()
    content = json.loads((bag.parent / 'session.json').read_text())
    assert content['rig'] == 'tiny' and content['plan']['blocks'] == 3
    assert content['plan']['targets'] == {'left': 6}


def test_stop_closes_the_bag_and_ends_the_session(make: Callable[..., Controller]) -> None:
    controller = make()
    run(controller)
    controller.arm()
    controller.start()
    run(controller, 10)
    outcome = controller.stop()
    assert end_reason(outcome.bag) == 'stopped'
    with pytest.raises(SessionError):
        controller.arm() or controller.start()

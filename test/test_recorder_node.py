# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The recorder node over the real middleware: what was published is in the bag."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import signal

import pytest

pytest.importorskip('rclpy', reason='rclpy (ROS 2) is not installed')
pytest.importorskip('teleop_flywheel.msg', reason='our messages are not built')

from std_srvs.srv import Trigger
from teleop_flywheel.srv import EndEpisode, StartEpisode

from recorder.bag.content_id import content_id
from recorder.bag.mcap_reader import bag_file, read_facts, read_messages
from recorder.facts import EpisodeFacts, from_json, SessionFacts
from recorder.resume import read_history
from support.live import new_domain, node, wait_until
from support.tiny_rig import numbers, recorder, TEXT, TinyRig

DOMAIN = new_domain()


@pytest.fixture
def rig() -> Iterator[TinyRig]:
    rig = TinyRig(DOMAIN)
    yield rig
    rig.close()


def test_episodes_cancel_and_interruption(tmp_path: Path, rig: TinyRig) -> None:
    probe = node('recorder.nodes.clock_probe', DOMAIN, tmp_path / 'probe.log', host='here')
    with (
        recorder(tmp_path, DOMAIN, button_start=3, button_cancel=4, preroll_s=0.5) as process,
        probe,
    ):
        wait_until(
            lambda: rig.node.count_publishers('/clock_probe/pong') > 0,
            lambda: rig.spin(0.05),
            'the clock probe is there',
        )
        started = rig.call(StartEpisode, 'start', location='left')
        assert started.success, started.message
        rig.spin(1.0)
        refused = rig.call(StartEpisode, 'start')
        assert not refused.success and 'found it recording' in refused.message
        wrong = rig.call(EndEpisode, 'end', grade='splendid')
        assert (
            not wrong.success
            and "grade 'splendid': expected one of success_first_try" in wrong.message
        )
        ended = rig.call(EndEpisode, 'end', grade='partial', note='slipped')
        assert ended.success, ended.message
        bag = Path(ended.bag)
        assert bag == tmp_path / 'bags/s1/s1_op1_e0000'
        assert content_id(bag) == ended.episode_id
        values, states = numbers(bag, '/command'), numbers(bag, '/joint_states')
        assert len(values) > 50 and len(states) > 50
        assert values == [values[0] + i for i in range(len(values))]
        lost = states[-1] - states[0] + 1 - len(states)  # best effort: the middleware may lose
        topics = {m.topic: m for m in read_messages(bag_file(bag))}
        assert b'<robot/>\0' in topics['/robot_description'].data
        assert {
            '/session/clock_offset',
            '/recorder/status',
            '/diagnostics',
            '/clock_probe/pong',
        } <= set(topics)
        facts = read_facts(bag_file(bag))
        assert facts['rig'] == TEXT
        session = from_json(SessionFacts, facts['session'], 'bag')
        assert (session.operator_id, session.location) == ('op1', 'left')
        episode = from_json(EpisodeFacts, facts['episode'], 'bag')
        assert (episode.grade, episode.note) == ('partial', 'slipped')
        state = next(s for s in episode.streams if s['topic'] == '/joint_states')
        assert (state['lost'], state['unwritten']) == (lost, 0)
        assert abs(state['latency_p50_ns']) < 10**9

        rig.spin(0.6)
        rig.press(3)
        rig.spin(0.3)
        rig.press(4)
        discarded = tmp_path / 'bags/s1/discarded/s1_op1_e0001/metadata.yaml'
        wait_until(discarded.is_file, lambda: rig.spin(0.05), 'the cancelled bag to move')
        facts = read_facts(bag_file(discarded.parent))
        start_ns = from_json(SessionFacts, facts['session'], 'bag').start_ns
        messages = list(read_messages(bag_file(discarded.parent)))
        assert sum(m.log_ns < start_ns - 10**8 for m in messages) > 20  # the pre-roll

        assert rig.call(Trigger, 'start_trigger').success
        rig.spin(0.3)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 0, output
        assert 'Traceback' not in output
        interrupted = tmp_path / 'bags/s1/s1_op1_e0002'
        assert len(numbers(interrupted, '/command')) > 10
        facts = read_facts(bag_file(interrupted))
        assert from_json(EpisodeFacts, facts['episode'], 'bag').end_reason == 'interrupted'


def end_reason(bag: Path) -> str:
    return from_json(EpisodeFacts, read_facts(bag_file(bag))['episode'], 'bag').end_reason


def test_three_blocks_with_a_cancel_a_crash_and_a_resume(tmp_path: Path, rig: TinyRig) -> None:
    plan = {'episodes_per_block': 4, 'blocks': 3, 'break_s': 60.0}
    folder = tmp_path / 'bags' / 's1'

    def episode(command: str) -> None:
        started = rig.call(Trigger, 'start_trigger')
        if not started.success and 'found it break' in started.message:
            assert rig.call(Trigger, 'next').success
            started = rig.call(Trigger, 'start_trigger')
        assert started.success, started.message
        rig.spin(0.25)
        assert rig.call(Trigger, command).success

    with recorder(tmp_path, DOMAIN, **plan) as process:
        for command in ('end_success', 'cancel', 'end_failure', 'end_success', 'end_retries'):
            episode(command)
        refused = rig.call(Trigger, 'start_trigger')
        assert not refused.success and 'found it break' in refused.message
        episode('end_partial')
        assert rig.call(Trigger, 'start_trigger').success
        rig.spin(1.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with recorder(tmp_path, DOMAIN, **plan):
        # until its lease ends, the killed one is still known: a call needs the new one beside it
        wait_until(
            lambda: len(rig.node.get_publishers_info_by_topic('/recorder/status')) == 2,
            lambda: rig.spin(0.1),
            'the new recorder',
        )
        rig.spin(1.0)
        for _ in range(7):
            episode('end_success')
        assert rig.call(Trigger, 'stop').success
        wait_until(
            lambda: '"saved"' in (folder / 's1_op1_e0013/episode.json').read_text(),
            lambda: rig.spin(0.05),
            'the last bag to be verified',
        )
    history = read_history(folder)
    assert [kept.index for kept in history.kept] == [0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13]
    assert history.attempts == 14 and history.unfinished == ()
    assert (folder / 'discarded/s1_op1_e0001/metadata.yaml').is_file()
    assert end_reason(folder / 's1_op1_e0006_recovered') == 'recovered'
    assert len(numbers(folder / 's1_op1_e0006_recovered', '/command')) > 20
    for kept in history.kept:
        values = numbers(folder / f's1_op1_e{kept.index:04d}', '/command')
        assert values == [values[0] + i for i in range(len(values))]

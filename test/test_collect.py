# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A plan file starts a session: who, which, and with what programs."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
import shutil
import signal
import subprocess
import sys

import pytest

from curation.cli.collect import (
    _console,
    choose_operator,
    choose_session,
    end_in_order,
    processes,
)
from curation.cli.main import main
from curation.exceptions import ChildError
from recorder.operators import read_operators
from recorder.plan_file import desktop_entry, load_plan_file, Unfinished, unfinished_session
from support.bags import write_bag
from teleop_bridge.exceptions import RigError
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig

EXAMPLE = data_file('config/plans/so101_sim.yaml')


def answers(*given: str) -> Callable[[str], str]:
    left = list(given)
    return lambda question: left.pop(0)


def test_the_example_names_files_that_exist_and_starts_every_program() -> None:
    plan = load_plan_file(EXAMPLE)
    rig = load_rig(plan.rig)
    started = {process.name: process for process in processes(plan, rig, {'operator_id': 'op1'})}
    assert list(started) == [
        'sim_rig', 'sim_operator', 'leader', 'follower', 'intervention', 'reference', 'recorder',
        'episode_scorer',
    ]  # fmt: skip
    parameters = started['recorder'].parameters
    assert (parameters['blocks'], parameters['episodes_per_block']) == (3, 4)
    assert (parameters['operator_id'], parameters['task']) == ('op1', 'pick_place')


def test_proposals_beside_the_plan_reach_the_recorder(tmp_path: Path) -> None:
    (tmp_path / 'plan.yaml').write_text('rig: rig.yaml\nproposals: next.json\n')
    plan = load_plan_file(tmp_path / 'plan.yaml')
    started = processes(plan, load_rig(load_plan_file(EXAMPLE).rig), {})
    (recorder,) = (process for process in started if process.name == 'recorder')
    assert recorder.parameters['proposals'] == str(tmp_path / 'next.json')


def test_a_mistake_in_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / 'plan.yaml'
    path.write_text('rig: rig.yaml\nblcks: 3\n')
    with pytest.raises(RigError, match=r"plan\.yaml.*'?blcks"):
        load_plan_file(path)


def test_an_operator_is_picked_by_number_or_name(tmp_path: Path) -> None:
    path = tmp_path / 'operators.yaml'
    path.write_text('operators:\n  Ada: {pseudonym: op3}\n  Bo: {pseudonym: op4}\n')
    names = list(read_operators(path))
    assert choose_operator(names, answers('3', '', '2')) == 'Bo'
    assert choose_operator(names, answers('Ada')) == 'Ada'


def session(folder: Path, name: str, operator: str, done: int) -> None:
    content = {
        'operator_id': operator,
        'task': '',
        'kind': 'collection',
        'plan': {'episodes_per_block': 2, 'blocks': 2},
    }
    for index in range(done):
        bag = folder / name / f'{name}_e{index:04d}'
        write_bag(bag, messages=1)
        facts = {'state': 'saved', 'session': {}, 'episode': {'end_reason': 'graded'}}
        (bag / 'episode.json').write_text(json.dumps(facts))
    (folder / name).mkdir(exist_ok=True, parents=True)
    (folder / name / 'session.json').write_text(json.dumps(content))


def test_an_unfinished_session_of_this_operator_is_offered(tmp_path: Path) -> None:
    (tmp_path / 'plan.yaml').write_text('rig: rig.yaml\noutput: bags\n')
    plan = load_plan_file(tmp_path / 'plan.yaml')
    assert unfinished_session(plan, 'op1') is None
    session(plan.output, 'a', 'op1', done=4)
    session(plan.output, 'b', 'op2', done=1)
    assert unfinished_session(plan, 'op1') is None
    session(plan.output, 'c', 'op1', done=3)
    assert unfinished_session(plan, 'op1') == Unfinished('c', 3, 4)
    assert choose_session(plan, 'op1', answers('')) == 'c'
    assert choose_session(plan, 'op1', answers('n')) != 'c'
    assert unfinished_session(plan, 'op2') == Unfinished('b', 1, 4)


def test_the_desktop_entry_keeps_every_word_of_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / 'a plan for $5, 100% "sure".yaml'
    path.write_text('rig: rig.yaml\n')
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path))
    assert main(['collect', '--desktop', str(path)]) == 0
    (entry,) = (tmp_path / 'applications').iterdir()
    (line,) = [line for line in entry.read_text().split('\n') if line.startswith('Exec=')]
    # a desktop undoes the escapes of a string, then of quoted arguments, then of field codes
    undone = line[5:].replace('\\\\', '\\')  # what is left are a shell's own rules
    printed = subprocess.run(
        ['sh', '-c', f"printf '%s\\0' {undone}"], capture_output=True, text=True, check=True
    )
    words = printed.stdout.split('\0')[:-1]
    assert words[-1].replace('%%', '%') == str(path)
    assert words[-2] == 'collect' and words[0] == 'env'
    shown = subprocess.run(
        [*words[words.index('sh') :][:4], 'echo', 'recorded'],
        input='\n', capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert shown.stdout == 'recorded\npress Enter to close '
    if checker := shutil.which('desktop-file-validate'):
        plain = tmp_path / 'plain.desktop'
        plain.write_text(desktop_entry(load_plan_file(path), ['flywheel'], {}))
        subprocess.run([checker, str(plain)], check=True)


def test_what_cannot_work_is_said_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip('rclpy', reason='rclpy (ROS 2) is not installed')
    (tmp_path / 'operators.yaml').write_text('operators:\n  Ada: {pseudonym: op3}\n')
    rig = load_plan_file(EXAMPLE).rig
    (tmp_path / 'plan.yaml').write_text(f'rig: {rig}\noperators: operators.yaml\n')
    command = ['collect', str(tmp_path / 'plan.yaml'), '--operator', 'Eve']
    monkeypatch.setattr(sys.stdin, 'isatty', lambda: False, raising=False)
    assert main(command) == 2
    assert 'expected a terminal' in capsys.readouterr().err
    monkeypatch.setattr(sys.stdin, 'isatty', lambda: True, raising=False)
    assert main(command) == 1
    assert "expected operator 'Eve' there, found no such name" in capsys.readouterr().err
    assert not (tmp_path / 'bags').exists()


@pytest.mark.parametrize('number', [signal.SIGHUP, signal.SIGTERM])
def test_a_closed_window_ends_the_session_in_order(number: signal.Signals) -> None:
    before = {kind: signal.getsignal(kind) for kind in (signal.SIGHUP, signal.SIGTERM)}
    try:
        end_in_order()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def test_a_program_that_ends_ends_the_console_and_tells_what_to_do() -> None:
    class Dead:
        def check(self) -> None:
            raise ChildError('recorder ended (SIGKILL)')

    with pytest.raises(ChildError, match=r'recorder ended \(SIGKILL\)\. Start again: the session'):
        _console(Dead())

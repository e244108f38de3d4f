# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The console shows what an operator must see, and offers only what the state allows."""

from __future__ import annotations

from dataclasses import replace
import io
import os
from pathlib import Path
import pty
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('rich', reason='rich is not installed')

from rich.console import Console

from recorder.console.keys import COMMANDS, edit
from recorder.console.state import add_diagnostic, ConsoleState, LastScore
from recorder.console.view import screen
from teleop_bridge.vocabulary import SessionState

STATE = ConsoleState(
    state=SessionState.RECORDING,
    connected=True,
    session_id='s7',
    operator_id='op3',
    kind='collection',
    task='pick_place',
    episode_index=4,
    block=1,
    done=3,
    target=8,
    elapsed_s=12.0,
    limit_s=30.0,
    messages=1234,
    message='recording episode 4 at far_left',
)


def shown(state: ConsoleState, width: int = 110) -> str:
    console = Console(file=io.StringIO(), width=width, height=40)
    console.print(screen(state))
    return console.file.getvalue()


def test_state_time_left_target_and_instruction() -> None:
    text = shown(STATE)
    for part in (
        'RECORDING',
        'left 0:18',
        'episode 4',
        'block 2',
        '3 of 8',
        's7',
        'op3',
        'recording episode 4 at far_left',
        'messages 1234',
        'not written 0',
    ):
        assert part in text, part
    assert 'over by 0:04' in shown(replace(STATE, elapsed_s=34.0))
    assert 'waiting for the recorder' in shown(ConsoleState())


def test_a_proposed_place_is_shown_whole_on_a_narrow_terminal() -> None:
    place = 'put the object at (0.210, -0.080) m, near far_left'
    text = shown(replace(STATE, state=SessionState.ARMED, message=f'ready: {place}'), width=80)
    assert place in text


def test_faulty_stream_comes_first_with_its_fix() -> None:
    state = replace(STATE, streams={})
    add_diagnostic(
        state,
        '/a',
        True,
        '100 Hz',
        {'rate_hz': '99.5', 'expected_hz': '100', 'age_ns': '8000000', 'lost': '2'},
    )
    add_diagnostic(state, '/z', False, 'z: 14.8 Hz, expected 30 Hz; check its driver', {})
    lines = [line for line in shown(state).splitlines() if '/a' in line or '/z' in line]
    assert 'check its driver' in lines[0]
    assert lines[1].split()[1:6] == ['/a', '99.5', '100', '8', '2']


def test_machine_and_last_score() -> None:
    state = replace(STATE, score=LastScore('review', 'partial', 9.1, ('Smoother next time.',)))
    add_diagnostic(state, 'disk', True, '61.9 GB free', {'minutes_left': '42.4'})
    add_diagnostic(state, 'writer', True, '', {'queued_bytes': '80000000'})
    add_diagnostic(state, 'clock of camera-pc', False, '+7.1 ms off ours', {})
    add_diagnostic(state, 'clock', True, '', {'wall_minus_session_ns': '3600000000000'})
    text = shown(state)
    for part in (
        '61.9 GB free, 42 min left',
        'waiting for the disk: 80 MB',
        'wall clock +3600000.0 ms',
        'camera-pc +7.1 ms off ours',
        'last episode: review (partial, 9.1 s)',
        'Smoother next time.',
    ):
        assert part in text, part


def test_a_recorder_that_is_gone_is_not_shown_as_recording() -> None:
    well = shown(replace(STATE, silent_s=2.0))
    assert 'RECORDING' in well and 'NO RECORDER' not in well
    gone = shown(replace(STATE, silent_s=5.0))
    assert 'NO RECORDER' in gone and 'not heard of for 5 s' in gone and 'session_id:=s7' in gone
    assert 'RECORDING' not in gone and 'success, first try' not in gone
    arming = replace(STATE, state=SessionState.IDLE, silent_s=5.0)
    assert 'NO RECORDER' not in shown(arming)


def test_answers_and_notes_are_shown() -> None:
    text = shown(replace(STATE, answer='not armed: state is silent', refused=True, note='slip'))
    assert 'not armed: state is silent' in text and 'note: slip' in text


def test_keys_offered_are_those_the_state_allows() -> None:
    for state in SessionState:
        text = shown(replace(STATE, state=state))
        for command in COMMANDS:
            assert (command.label in text) == (state in command.states), (state, command)


def test_line_editing() -> None:
    note = ''
    for key in 'slip!\x7fped\x07':
        note = edit(note, key)
    assert note == 'slipped'


def test_console_gives_the_terminal_back(tmp_path: Path) -> None:
    """Run it on a pseudo-terminal, see its screen, leave by its key."""
    pytest.importorskip('rclpy', reason='rclpy (ROS 2) is not installed')
    from support.live import environment, new_domain, PATIENCE_S

    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, '-m', 'recorder.nodes.console'],
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        env={**environment(new_domain()), 'TERM': 'xterm-256color'},
    )
    os.close(terminal)
    seen = b''
    deadline = time.monotonic() + PATIENCE_S
    while b'waiting for the recorder' not in seen:
        assert time.monotonic() < deadline, seen
        seen += os.read(controller, 65536)
    os.write(controller, b'q')
    try:
        os.set_blocking(controller, False)
        while process.poll() is None:
            assert time.monotonic() < deadline
            try:
                os.read(controller, 65536)
            except OSError:
                time.sleep(0.05)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        os.close(controller)
    assert process.returncode == 0, process.stderr.read()
    process.stderr.close()

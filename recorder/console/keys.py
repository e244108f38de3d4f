# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Keys of the console: read from a plain terminal, one at a time and without waiting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
import os
import select
import sys
import termios
import tty

from teleop_bridge.vocabulary import SessionState


@dataclass(frozen=True)
class Command:
    """A recorder's service that a key calls, and the states in which it is offered."""

    key: str
    service: str
    label: str
    states: tuple[SessionState, ...]


_READY = (SessionState.IDLE, SessionState.ARMED, SessionState.RESET)
_RECORDING = (SessionState.RECORDING,)
COMMANDS = (
    Command('s', 'start_trigger', 'start', _READY),
    Command('1', 'end_success', 'success, first try', _RECORDING),
    Command('2', 'end_retries', 'success after retries', _RECORDING),
    Command('3', 'end_partial', 'partial', _RECORDING),
    Command('4', 'end_failure', 'failure', _RECORDING),
    Command('c', 'cancel', 'cancel and re-record', _RECORDING),
    Command('n', 'next', 'next', (SessionState.RESET, SessionState.BREAK)),
    Command('S', 'stop', 'stop the session', tuple(SessionState)[:-1]),
)
NOTE, QUIT = 'm', 'q'
GRADES: Mapping[str, str] = {
    '1': 'success_first_try',
    '2': 'success_after_retries',
    '3': 'partial',
    '4': 'failure',
}
ENTER, BACKSPACE, ESCAPE = ('\r', '\n'), ('\x7f', '\b'), '\x1b'


@contextmanager
def raw_terminal() -> Iterator[None]:
    """Give keys as they are pressed, unechoed; put the terminal back at the end."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def pressed() -> str:
    """Return what was typed since the last call, empty if nothing."""
    ready, _, _ = select.select([sys.stdin], [], [], 0)
    return os.read(sys.stdin.fileno(), 256).decode(errors='ignore') if ready else ''


def edit(note: str, key: str) -> str:
    """Return a line of text after one more key."""
    if key in BACKSPACE:
        return note[:-1]
    return note + key if key.isprintable() else note

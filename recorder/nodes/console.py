# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The operator's console: a terminal screen on the recorder's topics, keys on its services."""

from __future__ import annotations

import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.task import Future
from rich.console import Console
from rich.live import Live
from std_srvs.srv import Trigger
from teleop_flywheel.msg import EpisodeScore, EpisodeStatus
from teleop_flywheel.srv import EndEpisode

from recorder.console.keys import (
    COMMANDS,
    edit,
    ENTER,
    ESCAPE,
    GRADES,
    NOTE,
    pressed,
    QUIT,
    raw_terminal,
)
from recorder.console.state import add_diagnostic, ConsoleState, LastScore
from recorder.console.view import screen
from recorder.exceptions import SessionError
from teleop_bridge.nodes.parameters import declare
from teleop_bridge.nodes.qos import EVENT, LATCHED
from teleop_bridge.nodes.run import run
from teleop_bridge.vocabulary import SessionState

_REFRESH_S = 0.1


class ConsoleNode(Node):
    """Shows the recorder's state and carries out keys."""

    def __init__(self) -> None:
        """Take over the terminal; SessionError where there is none."""
        super().__init__('console')
        name = declare(self, 'recorder', 'recorder', "name of the recorder's node")
        if not sys.stdin.isatty():
            raise SessionError('console: expected a terminal to read keys from, found none')
        self._state = ConsoleState()
        self._prefix = f'{name}: '
        self._note = ''
        self._clients_by_name = {
            command.service: self.create_client(Trigger, f'{name}/{command.service}')
            for command in COMMANDS
        }
        self._end = self.create_client(EndEpisode, f'{name}/end')
        self.create_subscription(EpisodeStatus, 'recorder/status', self._on_status, LATCHED)
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, EVENT)
        self.create_subscription(EpisodeScore, 'episode_score', self._on_score, LATCHED)
        self.create_timer(_REFRESH_S, self._refresh)
        self._terminal = raw_terminal()
        self._terminal.__enter__()
        self._live = Live(console=Console(), screen=True, auto_refresh=False)
        self._live.start()

    def destroy_node(self) -> None:
        """Give the terminal back."""
        self._live.stop()
        self._terminal.__exit__(None, None, None)
        super().destroy_node()

    def _refresh(self) -> None:
        for key in pressed():
            self._key(key)
        self._state.elapsed_s += _REFRESH_S
        self._state.silent_s += _REFRESH_S
        self._live.update(screen(self._state), refresh=True)

    def _key(self, key: str) -> None:
        state = self._state
        if state.note is not None:
            if key in ENTER:
                self._note, state.note = state.note, None
                state.answer = f'the next grade carries the note: {self._note}'
            else:
                state.note = None if key == ESCAPE else edit(state.note, key)
            return
        if key == QUIT:
            raise KeyboardInterrupt
        if key == NOTE:
            state.note = self._note
        for command in COMMANDS:
            if command.key == key and state.state in command.states:
                self._call(command.service, key)

    def _call(self, service: str, key: str) -> None:
        client: Any = self._clients_by_name[service]
        request: Any = Trigger.Request()
        if key in GRADES and self._note:
            client, request = self._end, EndEpisode.Request(grade=GRADES[key], note=self._note)
        if not client.service_is_ready():
            self._state.answer, self._state.refused = 'the recorder does not answer', True
            return
        self._state.answer, self._state.refused = '…', False
        client.call_async(request).add_done_callback(self._answered)
        if key in GRADES:
            self._note = ''

    def _answered(self, future: Future) -> None:
        response = future.result()
        self._state.answer, self._state.refused = response.message, not response.success

    def _on_status(self, message: EpisodeStatus) -> None:
        state = self._state
        state.connected = True
        state.silent_s = 0.0
        state.state = SessionState(message.state)
        state.kind = message.session_kind
        for name in (
            'session_id',
            'operator_id',
            'task',
            'location',
            'episode_index',
            'block',
            'done',
            'target',
            'elapsed_s',
            'limit_s',
            'messages',
            'lost',
            'message',
        ):
            setattr(state, name, getattr(message, name))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.startswith(self._prefix):
                add_diagnostic(
                    self._state,
                    status.name.removeprefix(self._prefix),
                    status.level == DiagnosticStatus.OK,
                    status.message,
                    {value.key: value.value for value in status.values},
                )

    def _on_score(self, message: EpisodeScore) -> None:
        self._state.score = LastScore(
            message.verdict, message.grade, message.duration_s, tuple(message.sentences)
        )


def main(args: list[str] | None = None) -> int:
    """Run the console until q or Ctrl-C."""
    try:
        return run(ConsoleNode, args=args)
    except KeyboardInterrupt:
        return 0


if __name__ == '__main__':
    sys.exit(main())

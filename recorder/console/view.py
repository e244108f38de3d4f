# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The console's screen, drawn from its state; needs the library rich and nothing of ROS."""

from __future__ import annotations

import math

from recorder.console.keys import COMMANDS, NOTE, QUIT
from recorder.console.state import ConsoleState, StreamRow
from teleop_bridge.exceptions import MissingDependencyError
from teleop_bridge.vocabulary import SessionState

try:
    from rich.console import Group, RenderableType
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text
except ImportError as error:
    raise MissingDependencyError('the console needs the library rich: pip install rich') from error

_COLOURS = {
    SessionState.IDLE: 'yellow',
    SessionState.ARMED: 'green',
    SessionState.RECORDING: 'red',
    SessionState.RESET: 'cyan',
    SessionState.BREAK: 'magenta',
    SessionState.STOPPED: 'white',
}
_BAR = 30
_CLOCK_STEP_NS = 20_000_000  # the wall clock this far off the session's is worth a colour


def screen(state: ConsoleState) -> RenderableType:
    """Return the whole screen."""
    if state.gone:
        return Group(_gone(state), _machine(state), _keys(state))
    return Group(_head(state), _next(state), _streams(state), _machine(state), _keys(state))


def _gone(state: ConsoleState) -> RenderableType:
    body = Text(' NO RECORDER ', style='bold reverse red')
    body.append(
        f'  not heard of for {state.silent_s:.0f} s: nothing is being recorded. Start it again '
        f'with session_id:={state.session_id}: it saves what was recorded, the session goes on.',
        style='red',
    )
    return Panel(body, title=state.session_id or 'recorder', title_align='left')


def _head(state: ConsoleState) -> RenderableType:
    colour = _COLOURS[state.state]
    line = Text()
    line.append(f' {state.state.name} ', style=f'bold reverse {colour}')
    line.append(f'  {_time(state.elapsed_s)}')
    if state.left_s is not None:
        over = state.left_s < 0
        line.append(
            f'  {"over by" if over else "left"} {_time(abs(state.left_s))}',
            style='bold red' if state.left_s < 5 else '',
        )
    line.append(f'   episode {state.episode_index}   block {state.block + 1}   ')
    if state.target:
        filled = round(_BAR * min(state.done / state.target, 1))
        line.append('█' * filled + '░' * (_BAR - filled), style=colour)
        line.append(f' {state.done} of {state.target}')
    else:
        line.append(f'{state.done} done')
    who = ' · '.join(
        part for part in (state.session_id, state.kind, state.operator_id, state.task) if part
    )
    return Panel(line, title=who or 'recorder', title_align='left', border_style=colour)


def _next(state: ConsoleState) -> RenderableType:
    body = Text(
        state.message or ('' if state.connected else 'waiting for the recorder'), style='bold'
    )
    if state.answer and state.answer != state.message:
        body.append(f'\n{state.answer}', style='red' if state.refused else 'dim')
    if state.note is not None:
        body.append(f'\nnote: {state.note}▏', style='yellow')
    if state.score is not None:
        score = state.score
        colour = {'keep': 'green', 'review': 'yellow'}.get(score.verdict, 'red')
        body.append(f'\nlast episode: {score.verdict}', style=colour)
        body.append(f' ({score.grade or "ungraded"}, {score.duration_s:.1f} s)')
        for sentence in score.sentences[:3]:
            body.append(f'\n  {sentence}')
    return Panel(body, title='what to do', title_align='left')


def _streams(state: ConsoleState) -> RenderableType:
    table = Table(expand=True, box=None, pad_edge=False)
    table.add_column('stream')
    for name in ('Hz', 'expected', 'age ms', 'lost', 'gaps'):
        table.add_column(name, justify='right')
    table.add_column('')
    for row in sorted(state.streams.values(), key=lambda row: (row.well, row.topic)):
        table.add_row(*_cells(row), style='' if row.well else 'red')
    return Panel(table, title='streams', title_align='left')


def _cells(row: StreamRow) -> tuple[str, ...]:
    age = '-' if row.age_ns is None else f'{row.age_ns / 1e6:.0f}'
    expected = f'{row.expected_hz:g}' if row.expected_hz else '-'
    return (
        row.topic,
        f'{row.rate_hz:.1f}',
        expected,
        age,
        str(row.lost or '-'),
        str(row.gaps or '-'),
        '' if row.well else row.message,
    )


def _machine(state: ConsoleState) -> RenderableType:
    line = Text()
    line.append(f'disk {state.disk or "?"}')
    if state.minutes_left is not None and math.isfinite(state.minutes_left):
        line.append(
            f', {state.minutes_left:.0f} min left', style='red' if state.minutes_left < 10 else ''
        )
    if state.queued_bytes > 1_000_000:
        line.append(f'   waiting for the disk: {state.queued_bytes / 1e6:.0f} MB', style='yellow')
    if state.wall_offset_ns is not None:
        stepped = abs(state.wall_offset_ns) > _CLOCK_STEP_NS
        line.append(
            f'   wall clock {state.wall_offset_ns / 1e6:+.1f} ms',
            style='yellow' if stepped else '',
        )
    line.append(f'   messages {state.messages}')
    line.append(f'   not written {state.lost}', style='bold red' if state.lost else '')
    for host, (well, message) in sorted(state.clocks.items()):
        line.append(f'\nclock of {host} {message}', style='' if well else 'yellow')
    return Panel(line, title='machine', title_align='left')


def _keys(state: ConsoleState) -> RenderableType:
    line = Text()
    for command in COMMANDS:
        if state.state in command.states and not state.gone:
            line.append(f' {command.key} ', style='reverse')
            line.append(f' {command.label}  ')
    for key, label in ((NOTE, 'note'), (QUIT, 'leave the console')):
        line.append(f' {key} ', style='reverse dim')
        line.append(f' {label}  ', style='dim')
    return line


def _time(seconds: float) -> str:
    return f'{int(seconds) // 60}:{int(seconds) % 60:02d}'

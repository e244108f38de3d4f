# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the operator's console knows, gathered from the recorder's messages."""

from __future__ import annotations

from dataclasses import dataclass, field

from teleop_bridge.vocabulary import SessionState

PATIENCE_S, ARMING_PATIENCE_S = 4.0, 12.0


@dataclass(frozen=True)
class StreamRow:
    """One stream as /diagnostics tells it; ages in ns, None before its first message."""

    topic: str
    well: bool
    message: str
    rate_hz: float = 0.0
    expected_hz: float = 0.0
    age_ns: int | None = None
    lost: int = 0
    gaps: int = 0


@dataclass(frozen=True)
class LastScore:
    """What the scorer said of the last episode."""

    verdict: str
    grade: str
    duration_s: float
    sentences: tuple[str, ...] = ()


@dataclass
class ConsoleState:
    """The newest of everything; ``answer`` is what the last command was answered with."""

    state: SessionState = SessionState.IDLE
    connected: bool = False
    session_id: str = ''
    kind: str = ''
    operator_id: str = ''
    task: str = ''
    location: str = ''
    episode_index: int = 0
    block: int = 0
    done: int = 0
    target: int = 0
    elapsed_s: float = 0.0
    silent_s: float = 0.0  # since the recorder was last heard of
    limit_s: float = 0.0
    messages: int = 0
    lost: int = 0
    message: str = ''
    streams: dict[str, StreamRow] = field(default_factory=dict)
    disk: str = ''
    minutes_left: float | None = None
    queued_bytes: int = 0
    wall_offset_ns: int | None = None
    clocks: dict[str, tuple[bool, str]] = field(default_factory=dict)  # of other machines
    score: LastScore | None = None
    answer: str = ''
    refused: bool = False
    note: str | None = None  # being typed, None while not

    @property
    def gone(self) -> bool:
        """Tell whether the recorder seems gone: it is heard of each second unless it arms."""
        patience = PATIENCE_S if self.state is SessionState.RECORDING else ARMING_PATIENCE_S
        return self.connected and self.silent_s > patience

    @property
    def left_s(self) -> float | None:
        """Return the seconds left in this state, negative when over; None without a limit."""
        return self.limit_s - self.elapsed_s if self.limit_s else None


def add_diagnostic(
    state: ConsoleState, name: str, well: bool, message: str, values: dict[str, str]
) -> None:
    """Take one status of the recorder's /diagnostics, its name without the node's."""
    if name == 'disk':
        state.disk = message
        state.minutes_left = float(values['minutes_left']) if 'minutes_left' in values else None
    elif name == 'writer':
        state.queued_bytes = int(values.get('queued_bytes') or 0)
    elif name.startswith('clock of '):
        state.clocks[name.removeprefix('clock of ')] = (well, message)
    elif name == 'clock':
        state.wall_offset_ns = int(values.get('wall_minus_session_ns') or 0)
    else:
        age = values.get('age_ns')
        state.streams[name] = StreamRow(
            name,
            well,
            message,
            float(values.get('rate_hz') or 0),
            float(values.get('expected_hz') or 0),
            int(age) if age else None,
            int(values.get('lost') or 0),
            int(values.get('gaps') or 0),
        )

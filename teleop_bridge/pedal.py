# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A pedal's or gamepad's buttons as a rig declares them under ``devices.pedal``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from teleop_bridge.rig.schema import Rig
from teleop_bridge.rig.section import Section
from teleop_bridge.vocabulary import InterventionKind

NO_BUTTON = -1


@dataclass(frozen=True)
class Label:
    """What one button names the latest intervention."""

    kind: InterventionKind
    reason: str


@dataclass(frozen=True)
class Pedal:
    """Buttons of a Joy by what they do; ``labels`` by button."""

    topic: str = 'joy'
    take_over: int = NO_BUTTON
    hand_back: int = NO_BUTTON
    labels: dict[int, Label] = field(default_factory=dict)


class Presses:
    """Tells which buttons went down with each message."""

    def __init__(self) -> None:
        self._down: frozenset[int] = frozenset()

    def update(self, buttons: Sequence[int]) -> list[int]:
        """Take a Joy's buttons; return those that are newly down, in order."""
        down = frozenset(index for index, value in enumerate(buttons) if value)
        new, self._down = down - self._down, down
        return sorted(new)


def pedal(rig: Rig) -> Pedal:
    """Return the rig's pedal, one without buttons where it declares none; raises RigError."""
    if 'pedal' not in rig.devices:
        return Pedal()
    section = Section(rig.devices['pedal'], file=rig.path, where='devices.pedal')
    labels = {}
    for entry in section.sections('labels'):
        label = Label(entry.choice('kind', InterventionKind), entry.text('reason'))
        button = entry.whole('button')
        if button in labels:
            entry.fail('button', f'{button} is given twice')
        labels[button] = label
        entry.done()
    declared = Pedal(
        topic=section.text('topic', Pedal.topic),
        take_over=section.whole('take_over', NO_BUTTON),
        hand_back=section.whole('hand_back', NO_BUTTON),
        labels=labels,
    )
    section.done()
    return declared

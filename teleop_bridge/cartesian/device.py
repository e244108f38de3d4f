# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A Cartesian device as a rig declares it under ``devices.hand``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.rig.schema import Rig
from teleop_bridge.rig.section import Section

_AXES = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')
NO_BUTTON = -1


class HandKind(Enum):
    """What the device's messages are."""

    JOY = 'joy'      # sensor_msgs/Joy: a gamepad
    TWIST = 'twist'  # geometry_msgs/TwistStamped: a SpaceMouse through the spacenav node
    POSE = 'pose'    # geometry_msgs/PoseStamped: a tracked controller


@dataclass(frozen=True)
class Axis:
    """Which axis of a Joy moves one direction, and how fast at full deflection (m/s or rad/s)."""

    index: int
    scale: float


@dataclass(frozen=True)
class HandDevice:
    """Topics, buttons and speeds of one device.

    ``axes`` has six entries, x, y, z, roll, pitch, yaw, None where nothing moves it. Buttons are
    indices of a Joy: the device itself, or ``buttons_topic`` for twists and poses.
    """

    kind: HandKind
    topic: str
    buttons_topic: str
    tip_frame: str
    axes: tuple[Axis | None, ...]
    scale: float
    clutch: int
    opening: int
    closing: int
    timeout_ns: int
    max_speed: float
    max_turn: float
    gripper_speed: float

    def twist(self, axes: Sequence[float]) -> NDArray[np.float64]:
        """Return a Joy's axes as a velocity (6,): m/s, then rad/s; missing axes are at rest."""
        rates = [
            axis.scale * axes[axis.index] if axis is not None and axis.index < len(axes) else 0.0
            for axis in self.axes
        ]
        return np.array(rates)

    def pressed(self, buttons: Sequence[int], index: int) -> bool:
        """Tell whether a button is down; one that the device lacks never is."""
        return 0 <= index < len(buttons) and bool(buttons[index])

    def gripper(self, buttons: Sequence[int]) -> float:
        """Return how fast to open (1) or close (-1) the gripper."""
        return float(self.pressed(buttons, self.opening)) - self.pressed(buttons, self.closing)


def hand_device(rig: Rig) -> HandDevice | None:
    """Return the rig's Cartesian device, None where it declares none; raises RigError."""
    if 'hand' not in rig.devices:
        return None
    section = Section(rig.devices['hand'], file=rig.path, where='devices.hand')
    kind = section.choice('kind', HandKind)
    topic = section.text('topic')
    device = HandDevice(
        kind=kind,
        topic=topic,
        buttons_topic=section.text('buttons_topic', topic if kind is HandKind.JOY else ''),
        tip_frame=section.text('tip_frame'),
        axes=_axes(section.section('axes')),
        scale=section.number('scale', 1.0, above=0),
        clutch=section.whole('clutch_button'),
        opening=section.whole('open_button', NO_BUTTON),
        closing=section.whole('close_button', NO_BUTTON),
        timeout_ns=section.nanoseconds('timeout_ms', 200_000_000),
        max_speed=section.number('max_speed', 0.3, above=0),
        max_turn=section.number('max_turn', 1.5, above=0),
        gripper_speed=section.number('gripper_speed', 2.0, above=0),
    )
    if kind is HandKind.JOY and not any(device.axes):
        section.fail('axes', 'required for a joy')
    if not device.buttons_topic:
        section.fail('buttons_topic', f'required for a {kind.value}: the clutch is a button')
    if not rig.urdf:
        section.fail('tip_frame', 'a Cartesian device needs the urdf of the rig')
    section.done()
    return device


def _axes(section: Section | None) -> tuple[Axis | None, ...]:
    if section is None:
        return (None,) * len(_AXES)
    axes: list[Axis | None] = []
    for name in _AXES:
        entry = section.section(name)
        if entry is None:
            axes.append(None)
            continue
        axes.append(Axis(entry.whole('axis'), entry.number('scale')))
        entry.done()
    section.done()
    return tuple(axes)

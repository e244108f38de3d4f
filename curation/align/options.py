# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a caller may choose about alignment; the defaults invent nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from teleop_bridge.rig.schema import Role


class OnGap(Enum):
    """What to do where a required stream is staler than its maximum age."""

    RAISE = 'raise'
    MASK = 'mask'
    SPLIT = 'split'  # leave such samples out, one episode per span between them


class Pairing(Enum):
    """Which action belongs to the observation at a grid time."""

    NEXT = 'next'  # the first action executed at or after it
    HOLD = 'hold'  # the last action executed at or before it


class Interpolation(Enum):
    """How values between two messages come about; never for grippers, flags or images."""

    HOLD = 'hold'
    LINEAR = 'linear'
    SLERP = 'slerp'  # the quaternion of a pose; its position linearly


class Derivation(Enum):
    """What is derived."""

    TIP_POSE = 'tip_pose'  # of a frame of the rig's URDF: position, m, and unit quaternion
    VELOCITY = 'velocity'  # per s: the driver's, else from one message to the next
    RELATIVE = 'relative'  # the action minus the state it starts from, rad or m


@dataclass(frozen=True)
class Derived:
    """One derived stream: its name among the episode's signals, what it is, of which role.

    ``frame`` is the URDF's frame of a tip pose.
    """

    name: str
    derivation: Derivation
    role: Role = Role.STATE
    frame: str = ''


@dataclass(frozen=True)
class AlignOptions:
    """How to build the grid and the samples.

    ``rate`` in Hz is exact (``Fraction(30000, 1001)``); None takes the rig's first camera's rate,
    else that of its state. ``clock_stream`` instead names a stream whose messages are the grid.
    ``corrections_ns`` per stream is added to its stamps: a declared, measured clock offset.
    ``derived`` streams are computed on load and are among the episode's signals by their names.
    Interpolated samples use the message after the grid time too, which ``Pairing`` never does.
    """

    rate: Fraction | None = None
    clock_stream: str | None = None
    on_gap: OnGap = OnGap.RAISE
    pairing: Pairing = Pairing.NEXT
    interpolation: Mapping[str, Interpolation] = field(default_factory=dict)
    corrections_ns: Mapping[str, int] = field(default_factory=dict)
    derived: tuple[Derived, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None


DEFAULT = AlignOptions()

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Joint values by name: what one message says, and partial publishers merged into one vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.exceptions import JointError


@dataclass(frozen=True)
class JointSample:
    """Positions of the named joints at one capture time.

    ``positions`` has shape (len(names),), rad or m; ``stamp_ns`` is the capture time.
    """

    names: tuple[str, ...]
    positions: NDArray[np.float64]
    stamp_ns: int


def select_joints(
    wanted: Sequence[str],
    names: Sequence[str],
    values: Sequence[float],
    *,
    strict: bool = False,
    partial: bool = False,
) -> dict[str, float]:
    """Pick the wanted joints out of one message by name.

    Joints that are not wanted are ignored, or refused where ``strict``. Without ``partial`` every
    wanted joint must be there.

    Raises JointError, naming the joint, where one is missing, repeated, unknown or not finite, and
    where names and values differ in length.
    """
    if len(names) != len(values):
        raise JointError(f'{len(names)} joint names but {len(values)} positions')
    if len(set(names)) != len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise JointError(f"joint '{twice}' is repeated in one message")
    by_name = dict(zip(names, values, strict=True))
    if strict and (extra := [name for name in names if name not in set(wanted)]):
        raise JointError(f"unknown joint '{extra[0]}' (the rig is strict)")
    picked = {name: float(by_name[name]) for name in wanted if name in by_name}
    if not partial and len(picked) != len(wanted):
        missing = next(name for name in wanted if name not in picked)
        raise JointError(f"joint '{missing}' is missing")
    for name, value in picked.items():
        if not np.isfinite(value):
            raise JointError(f"joint '{name}' is not finite ({value})")
    return picked


class JointMerger:
    """The latest position of each joint, from publishers that may each carry some of them."""

    def __init__(self, names: Sequence[str], *, strict: bool = False) -> None:
        self.names = tuple(names)
        self._strict = strict
        self._positions: dict[str, float] = {}
        self._stamps: dict[str, int] = {}

    def update(self, names: Sequence[str], values: Sequence[float], stamp_ns: int) -> None:
        """Take one message; raises JointError and changes nothing where it is bad."""
        picked = select_joints(self.names, names, values, strict=self._strict, partial=True)
        self._positions.update(picked)
        self._stamps.update(dict.fromkeys(picked, stamp_ns))

    def latest(self) -> JointSample | None:
        """Return all joints in order, stamped with the oldest; None until each was seen."""
        if len(self._positions) < len(self.names):
            return None
        positions = np.array([self._positions[name] for name in self.names])
        return JointSample(self.names, positions, min(self._stamps.values()))

    def missing(self) -> tuple[str, ...]:
        """Return the joints that no message has carried yet."""
        return tuple(name for name in self.names if name not in self._positions)

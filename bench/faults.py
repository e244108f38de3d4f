# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the follower does when its sources fail: time to hold, and the largest step afterwards."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from teleop_bridge.exceptions import JointError
from teleop_bridge.follower import FollowerCore, FollowerOutput
from teleop_bridge.joints import JointMerger, JointSample
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig
from teleop_bridge.vocabulary import Phase

PERIOD_NS = 10_000_000
_FAULT, _BACK, _END = 200, 400, 900  # periods
HOUR_NS = 3600 * 10**9


class _Loop:
    """A follower whose leader and policy move, and one of whose sources fails for two seconds."""

    def __init__(self, rig: Rig, *, policy_drives: bool) -> None:
        self.rig = rig
        self.core = FollowerCore(rig, human_first=not policy_drives)
        self.merger = JointMerger(rig.joint_names)
        self.names = list(rig.joint_names)

    def pose(self, period: int) -> np.ndarray:
        t = period * PERIOD_NS / 1e9
        return 0.4 * np.sin(0.8 * t + np.arange(len(self.names)))

    def leader(self, names: list[str], values: np.ndarray, stamp_ns: int) -> None:
        """Take a leader's message as the follower node does."""
        try:
            self.merger.update(names, list(values), stamp_ns)
        except JointError:
            return
        sample = self.merger.latest()
        if sample is not None:
            self.core.human(sample)


Fault = Callable[[_Loop, int, np.ndarray, int], None]


def _silent(loop: _Loop, period: int, pose: np.ndarray, now: int) -> None:
    """Say nothing."""


def _nan(loop: _Loop, period: int, pose: np.ndarray, now: int) -> None:
    loop.leader(loop.names, np.where(np.arange(len(pose)) == 2, np.nan, pose), now)


def _wrong_joints(loop: _Loop, period: int, pose: np.ndarray, now: int) -> None:
    loop.leader([f'other_{name}' for name in loop.names], pose, now)


def _back_an_hour(loop: _Loop, period: int, pose: np.ndarray, now: int) -> None:
    loop.leader(loop.names, pose, now - HOUR_NS)


def _ahead_an_hour(loop: _Loop, period: int, pose: np.ndarray, now: int) -> None:
    loop.leader(loop.names, pose, now + HOUR_NS)


FAULTS: dict[str, tuple[Fault, bool]] = {
    'leader silent': (_silent, False),
    'leader at NaN': (_nan, False),
    'leader of the wrong joints': (_wrong_joints, False),
    'leader stamped an hour ago': (_back_an_hour, False),
    'leader stamped an hour ahead': (_ahead_an_hour, False),
    'policy dead in mid-chunk': (_silent, True),
}


def run_fault(name: str) -> list[object]:
    """Let one source fail and come back elsewhere; return a row of what happened."""
    fault, policy_drives = FAULTS[name]
    loop = _Loop(load_rig(data_file('config/rigs/so101_sim.yaml')), policy_drives=policy_drives)
    outputs: list[FollowerOutput] = []
    for period in range(_END):
        now = 10**18 + period * PERIOD_NS
        pose = loop.pose(period)
        failing = _FAULT <= period < _BACK
        if not policy_drives:
            fault(loop, period, pose, now) if failing else loop.leader(loop.names, pose, now)
        elif not failing:
            loop.core.policy(JointSample(loop.rig.joint_names, pose, now))
        if period == 0:
            loop.core.measured(JointSample(loop.rig.joint_names, pose, now))
        outputs.append(loop.core.step(now))
        command = outputs[-1].command
        assert command is not None
        loop.core.measured(JointSample(loop.rig.joint_names, command, now))
    hold = next(i for i in range(_FAULT, _BACK) if outputs[i].phase is Phase.HOLD)
    commands = np.array([output.command for output in outputs])
    recovery = np.abs(np.diff(commands[_BACK - 1 : _BACK + 200], axis=0)).max()
    held_ms = (hold - _FAULT + 1) * PERIOD_NS / 1e6
    return [name, f'{held_ms:.0f}', f'{recovery * 1000:.1f}', outputs[-1].phase.name.lower()]

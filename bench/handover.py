# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How smooth a handover is: our ramp against a hard switch, over many seeds, without limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.follower import FollowerCore
from teleop_bridge.joints import JointSample
from teleop_bridge.rig.schema import Rig
from teleop_bridge.sim.rig import REST, SimRig

Follower = Callable[[NDArray[np.float64]], NDArray[np.float64]]
RATE_HZ = 100
PERIOD_NS = 10**9 // RATE_HZ
APART_RAD = 0.2
_SWITCH, _END = 60, 160  # periods


@dataclass(frozen=True)
class Handover:
    """Commands (m, n) around one handover, and where the two sources were."""

    commands: NDArray[np.float64]
    hard: NDArray[np.float64]
    measured: NDArray[np.float64]

    def velocity_step(self, commands: NDArray[np.float64]) -> float:
        """Return the largest change of the commanded velocity from period to period, rad/s."""
        return float(np.abs(np.diff(commands, n=2, axis=0)).max() * RATE_HZ)

    def peak_jerk(self, commands: NDArray[np.float64]) -> float:
        """Return the largest third difference as a jerk, rad/s^3."""
        return float(np.abs(np.diff(commands, n=3, axis=0)).max() * RATE_HZ**3)

    def tracking_error(self) -> float:
        """Return the largest distance between the command and where the follower was, rad."""
        return float(np.abs(self.commands[:-1] - self.measured[1:]).max())


class SimulatedArm:
    """The SO-101 in MuJoCo as a follower: returns where it is one period after a command."""

    def __init__(self, start: NDArray[np.float64]) -> None:
        self._sim = SimRig()
        self._sim.reset(cube_xy=(0.3, 0.2), cube_yaw=0.0, joints=start)

    def __call__(self, command: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move towards a command for one period."""
        self._sim.command(command)
        self._sim.step(PERIOD_NS)
        return self._sim.state().positions


def unlimited(rig: Rig) -> Rig:
    """Return the rig without velocity and acceleration limits."""
    joints = tuple(
        replace(joint, velocity=np.inf, acceleration=np.inf, lower=-np.inf, upper=np.inf)
        for joint in rig.joints
    )
    follower = replace(rig.follower, startup_velocity=np.inf, max_lead=np.inf)
    return replace(rig, joints=joints, follower=follower)


def hand_over(
    rig: Rig,
    *,
    seed: int,
    to_human: bool,
    make_arm: Callable[[NDArray[np.float64]], Follower] = lambda _: lambda command: command,
) -> Handover:
    """Run one handover between two slowly moving sources that are 0.2 rad apart in every joint.

    ``make_arm`` gives the follower that starts at a pose; by default it is where it was sent.
    """
    rng = np.random.default_rng(seed)
    n = len(rig.joint_names)
    frequency, phase = rng.uniform(0.1, 0.4, n), rng.uniform(0, 2 * np.pi, n)
    side = rng.choice([-1, 1], n)

    def policy(t: float) -> NDArray[np.float64]:
        return REST + 0.15 * np.sin(2 * np.pi * frequency * t + phase)

    def human(t: float) -> NDArray[np.float64]:
        return policy(t) + side * APART_RAD

    core = FollowerCore(rig, human_first=not to_human)
    commands, hard, measured = [], [], []
    at = policy(0.0) if to_human else human(0.0)
    arm = make_arm(at)
    for period in range(_END):
        now = period * PERIOD_NS
        t = now / 1e9
        core.human(JointSample(rig.joint_names, human(t), now))
        core.policy(JointSample(rig.joint_names, policy(t), now))
        measured.append(at)
        core.measured(JointSample(rig.joint_names, at, now))
        if period == _SWITCH:
            core.take_over('i', now) if to_human else core.hand_back(now)
        output = core.step(now)
        assert output.command is not None
        at = arm(output.command)
        commands.append(output.command)
        human_drives = (period >= _SWITCH) == to_human
        hard.append(human(t) if human_drives else policy(t))
    around = slice(_SWITCH - 10, None)
    return Handover(*(np.array(values)[around] for values in (commands, hard, measured)))


def largest_excess(rig: Rig, commands: NDArray[np.float64]) -> float:
    """Return by what share a velocity or acceleration limit was exceeded at most; 0 if none."""
    velocity = np.array([joint.velocity for joint in rig.joints])
    acceleration = np.array([joint.acceleration for joint in rig.joints])
    rates = np.diff(commands, axis=0) * RATE_HZ
    excess = (
        np.abs(rates).max(axis=0) / velocity,
        np.abs(np.diff(rates, axis=0) * RATE_HZ).max(axis=0) / acceleration,
    )
    return max(0.0, float(np.max(excess)) - 1.0)

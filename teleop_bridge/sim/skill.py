# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How well a simulated person teleoperates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from teleop_bridge.exceptions import FlywheelError


class Script(str, Enum):
    """What a scripted operator does in one attempt."""

    CLEAN = 'clean'
    FUMBLE = 'fumble'          # the first grasp misses, then a retry
    JERKY = 'jerky'            # moves in many small corrections
    CORRECTION = 'correction'  # watches a policy, takes over when it has missed, hands back
    PEDAL = 'pedal'            # the same by a pedal, after bringing the leader near, slowly


@dataclass(frozen=True)
class Skill:
    """One person's hand and eye; lengths in m, angles in rad, times in s."""

    name: str
    speed: float             # mean speed of a reach, m/s
    settle_s: float          # least duration of a movement
    tremor: float            # amplitude per joint, rad (physiological: 8 to 12 Hz)
    aim_error: float         # standard deviation of where a grasp is aimed
    yaw_error: float         # and of its direction
    pause_probability: float  # of hesitating between two movements
    pause_s: float           # median hesitation
    submovements: int = 1    # corrections that one reach is broken into
    wander: float = 0.0      # how far each of them goes astray
    retries: int = 2         # after a failed grasp
    comfort_bias: float = 0.0  # how strongly easy object poses are favoured, 0 to 1
    fumbles: float = 0.0     # share of attempts whose first grasp goes wide
    jerks: float = 0.0       # share of attempts made in many small corrections

    def tired(self, fatigue: float) -> Skill:
        """Return this person after some work: ``fatigue`` 0 (fresh) to 1 (exhausted)."""
        return replace(
            self,
            speed=self.speed * (1 - 0.35 * fatigue),
            tremor=self.tremor * (1 + fatigue),
            aim_error=self.aim_error * (1 + 0.6 * fatigue),
            yaw_error=self.yaw_error * (1 + 0.6 * fatigue),
            pause_probability=min(1.0, self.pause_probability * (1 + fatigue)),
        )

    def jerky(self) -> Skill:
        """Return this person on a bad day: each reach in many small corrections."""
        return replace(self, submovements=5, wander=0.012, tremor=2.5 * self.tremor)


BETTER = Skill(
    'better',
    speed=0.16,
    settle_s=0.45,
    tremor=0.0006,
    aim_error=0.0015,
    yaw_error=0.02,
    pause_probability=0.05,
    pause_s=0.2,
    comfort_bias=0.1,
    fumbles=0.02,
)
OKAY = Skill(
    'okay',
    speed=0.12,
    settle_s=0.55,
    tremor=0.0012,
    aim_error=0.004,
    yaw_error=0.06,
    pause_probability=0.25,
    pause_s=0.4,
    submovements=2,
    wander=0.004,
    comfort_bias=0.4,
    fumbles=0.08,
    jerks=0.05,
)
WORSE = Skill(
    'worse',
    speed=0.09,
    settle_s=0.65,
    tremor=0.002,
    aim_error=0.008,
    yaw_error=0.12,
    pause_probability=0.5,
    pause_s=0.7,
    submovements=3,
    wander=0.009,
    retries=3,
    comfort_bias=0.7,
    fumbles=0.2,
    jerks=0.15,
)
SKILLS = {skill.name: skill for skill in (BETTER, OKAY, WORSE)}


def skill_named(name: str) -> Skill:
    """Return better, okay or worse; FlywheelError names them for another name."""
    if name not in SKILLS:
        raise FlywheelError(f"operator skill: expected one of {', '.join(SKILLS)}, found '{name}'")
    return SKILLS[name]


def script_named(name: str) -> Script:
    """Return the script of that name; FlywheelError names them for another name."""
    try:
        return Script(name)
    except ValueError:
        known = ', '.join(script.value for script in Script)
        raise FlywheelError(f"operator script: expected one of {known}, found '{name}'") from None

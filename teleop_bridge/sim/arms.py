# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Which simulated arms a rig declares: one, or several told apart by their joints' prefix."""

from __future__ import annotations

from teleop_bridge.exceptions import RigError
from teleop_bridge.rig.schema import Rig, Role, Stream
from teleop_bridge.sim.scene import JOINTS


def arm_prefixes(rig: Rig) -> tuple[str, ...]:
    """Return the prefix of each arm, as ``left_``; one empty prefix of a rig with one arm."""
    first = JOINTS[0]
    candidates = [name.removesuffix(first) for name in rig.joint_names if name.endswith(first)]
    names = set(rig.joint_names)
    return tuple(p for p in candidates if names >= {f'{p}{joint}' for joint in JOINTS})


def state_stream(rig: Rig, prefix: str) -> Stream:
    """Return the stream of an arm's joints: the only one, or that whose name has the prefix.

    Raises RigError where there is none.
    """
    streams = rig.by_role(Role.STATE)
    found = streams if len(streams) == 1 else [s for s in streams if s.name.startswith(prefix)]
    if len(found) != 1:
        raise RigError(
            f"{rig.path}: streams: expected one of the role state named '{prefix}…', "
            f'found {len(found)}'
        )
    return found[0]

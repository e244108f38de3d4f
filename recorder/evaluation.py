# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Which checkpoint meets which start state when: interleaved, and blind to the operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import random


@dataclass(frozen=True)
class Trial:
    """One attempt of an evaluation; the operator sees the location alone."""

    checkpoint: str
    location: str


def interleave(
    checkpoints: Sequence[str], locations: Sequence[str], *, repeats: int, seed: str
) -> tuple[Trial, ...]:
    """Return every checkpoint at every location, ``repeats`` times each.

    All checkpoints meet one location before the next location comes, in an order drawn anew each
    time, so that what drifts (light, wear, the operator) meets all of them alike. One seed gives
    one order: a session that resumes continues it.
    """
    draw = random.Random(seed)
    trials = []
    for _ in range(repeats):
        places = list(locations) or ['']
        draw.shuffle(places)
        for place in places:
            order = list(checkpoints)
            draw.shuffle(order)
            trials += [Trial(checkpoint, place) for checkpoint in order]
    return tuple(trials)

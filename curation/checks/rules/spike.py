# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Single samples off a joint's path: garbled readings and commands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from curation.align.episode import Values
from curation.checks.finding import Finding, Severity
from curation.checks.registry import episode_check, Limits
from curation.checks.signal import Flags
from curation.checks.view import Motion, View
from teleop_bridge.rig.schema import Role

_WIDEST = 2  # samples; what is off for longer is a motion, or another check's
_GAP = 2  # periods for one, beyond which the line around says little
_BACK = 0.75  # of what the path goes on by meanwhile; half of it is a leap that stays
_USUAL = 97  # percentile of how far samples are off: a few spikes do not raise it


@episode_check('spike', gain=6.0, least=0.15)
def spike(view: View, limits: Limits) -> Iterator[Finding]:
    """Find one or two samples of a joint that leap off its path, after which it goes on as before.

    Off the path is what is far from the straight line between the samples around, in rad or m and
    against how far that joint's samples usually are.
    """
    for role in (Role.STATE, Role.ACTION):
        motion = view.motion(role)
        if motion is None or len(motion) < 30:
            continue
        offs = [_off_path(motion, width) for width in range(1, _WIDEST + 1)]
        limit = np.maximum(
            limits['gain'] * np.percentile(offs[0], _USUAL, axis=0), limits['least']
        )
        off = np.maximum.reduce(offs)
        samples, joints = np.nonzero((off > limit) & _tops(off))
        if not len(samples):
            continue
        worst = int(np.argmax(off[samples, joints] / limit[joints]))
        at, joint = samples[worst], joints[worst]
        yield view.find(
            Severity.ERROR,
            motion.stream,
            f'{len(np.unique(samples))} samples are off the path, the farthest by '
            f"{off[at, joint]:.2f} in joint '{motion.names[joint]}'",
            value=off[at, joint],
            threshold=limit[joint],
            start_ns=motion.stamps_ns[samples[0]],
            end_ns=motion.stamps_ns[samples[-1]],
            advice='look for garbled replies on the bus; a robot leaps at such a command',
        )


def _off_path(motion: Motion, width: int) -> Values:
    """Return how far each of ``width`` samples in a row is off the line around them (n, k).

    The least of them, where all are off to the same side and the path goes on as before, else 0;
    also 0 beside a gap.
    """
    seconds = (motion.stamps_ns - motion.stamps_ns[0]) / 1e9
    count = len(motion) - width - 1
    before, after = motion.positions[:count], motion.positions[-count:]
    took = seconds[-count:] - seconds[:count]
    inner = []
    for i in range(1, width + 1):
        part = (seconds[i : i + count] - seconds[:count]) / np.maximum(took, 1e-9)
        line = before + (after - before) * part[:, None]
        inner.append(motion.positions[i : i + count] - line)
    far = np.abs(inner).min(axis=0)
    same_side = np.abs(np.sign(inner).sum(axis=0)) == width
    steady = took < _GAP * (width + 1) * motion.period_s
    back = far > _BACK * np.abs(after - before)
    least = np.where(same_side & back & steady[:, None], far, 0.0)
    off = np.zeros_like(motion.positions)
    for i in range(1, width + 1):
        np.maximum(off[i : i + count], least, out=off[i : i + count])
    return off


def _tops(off: Values) -> Flags:
    """Return where samples are off themselves: beside them a spike bends the line around."""
    padded = np.pad(off, ((1, 1), (0, 0)))
    return np.asarray(off > 0.75 * np.maximum(padded[:-2], padded[2:]))

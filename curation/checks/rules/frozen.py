# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""State, joints or images that stand still while what should move them moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from curation.align.episode import Times
from curation.checks.among import others_limit, same_joints
from curation.checks.finding import Finding, Severity
from curation.checks.motion import reach
from curation.checks.registry import collection_check, episode_check, Limits
from curation.checks.signal import Flags, longest, spans
from curation.checks.summary import Summary
from curation.checks.view import View
from teleop_bridge.rig.schema import Role

_HARDLY = 0.05  # of the usual change between images


@episode_check('frozen_state', seconds=0.3, part=0.05)
def state(view: View, limits: Limits) -> Iterator[Finding]:
    """Find state or command without any change while the other one, or a camera, moves."""
    for role, other_role in ((Role.STATE, Role.ACTION), (Role.ACTION, Role.STATE)):
        motion, other = view.motion(role), view.motion(other_role)
        if motion is None or len(motion) < 8:
            continue
        same = (np.diff(motion.positions, axis=0) == 0).all(axis=1)
        least = max(limits['seconds'], 4 * motion.period_s)
        worst, unknown = None, None
        for start, end in spans(same):
            begin, finish = motion.stamps_ns[[start, end]].tolist()
            seconds = (finish - begin) / 1e9
            if seconds < least:
                continue
            moved = _moved(view, other_role, begin, finish)
            if moved is None:
                unknown = max(unknown or (0.0, 0, 0), (seconds, begin, finish))
            elif moved > limits['part'] and (worst is None or moved * seconds > worst[0]):
                worst = (moved * seconds, begin, finish, moved)
        if worst is not None:
            _, begin, finish, moved = worst
            seconds = (finish - begin) / 1e9
            moving = other.stream if other else 'what a camera shows'
            yield view.find(
                Severity.ERROR,
                motion.stream,
                f'does not change for {seconds:.2f} s while {moving} moves by {moved:.0%} of its '
                'range',
                value=seconds,
                threshold=limits['seconds'],
                start_ns=begin,
                end_ns=finish,
                advice='the driver repeats an old value: look at its bus and its errors',
            )
        elif unknown is not None:
            seconds, begin, finish = unknown
            yield view.find(
                Severity.NOTE,
                motion.stream,
                f'does not change for {seconds:.2f} s; nothing else tells whether it moved',
                value=seconds,
                threshold=limits['seconds'],
                start_ns=begin,
                end_ns=finish,
                advice='',
            )


def _moved(view: View, role: Role, begin: int, finish: int) -> float | None:
    """Return how far another role moves in a span, in parts of the ranges; None if unknown."""
    other = view.motion(role)
    if other is not None:
        inside = (other.stamps_ns >= begin) & (other.stamps_ns <= finish)
        if inside.sum() > 1:
            ranges = np.maximum(reach(other.positions), 1e-3)
            return float((np.ptp(other.positions[inside], axis=0) / ranges).max())
    for features in view.features.values():
        inside = (features.stamps_ns >= begin) & (features.stamps_ns <= finish)
        if inside.sum() > 2:
            usual = np.percentile(features.change, 75)
            if usual > 0:
                return float(np.median(features.change[inside]) / usual) * 0.2
    return None


@collection_check('stuck_joint', seconds=0.5, gain=4.0, alone_s=10.0)
def stuck(summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
    """Find joints that stand exactly still while commanded to move, longer than in any other.

    A finger that closes on an object does so in every episode.
    """
    for group in same_joints(summaries):
        held = np.array([s.stuck.size for s in group])
        limit = np.full(held.shape, limits['alone_s'])
        if len(group) >= 8:
            limit = np.maximum(others_limit(held, limits['gain']), limits['seconds'])
        for i, summary in enumerate(group):
            worst = int(np.argmax(held[i] / limit[i]))
            if held[i, worst] > limit[i, worst]:
                yield summary.find(
                    Severity.ERROR,
                    f"joint '{summary.names[worst]}' stands for {held[i, worst]:.2f} s while its "
                    'command moves',
                    value=held[i, worst],
                    threshold=limit[i, worst],
                    advice='look for a blocked or powerless joint, or a value that is clipped',
                    span_ns=summary.stuck.span_ns[worst],
                )


@episode_check('frozen_image', seconds=0.25, part=0.02)
def image(view: View, limits: Limits) -> Iterator[Finding]:
    """Find images that repeat while the arm moves, in one stretch or again and again."""
    state = view.state
    for name, features in view.features.items():
        if len(features) < 12 or state is None:
            continue
        # a hung camera that is encoded again changes hardly, not exactly nothing
        hardly = _HARDLY * float(np.percentile(features.change[1:], 25))
        same = (np.diff(features.digest.astype(np.int64)) == 0) | (features.change[1:] < hardly)
        moving = _arm_moves(view, features.stamps_ns)[1:]
        start, end = longest(same & moving)
        seconds = (features.stamps_ns[end] - features.stamps_ns[start]) / 1e9
        if seconds >= limits['seconds'] and end - start >= 4:
            yield view.find(
                Severity.ERROR,
                name,
                f'shows one image for {seconds:.2f} s while the arm moves',
                value=seconds,
                threshold=limits['seconds'],
                start_ns=features.stamps_ns[start],
                end_ns=features.stamps_ns[end],
                advice='the camera or its driver hung: look at USB bandwidth and errors',
            )
            continue
        exact = (np.diff(features.digest.astype(np.int64)) == 0) & moving
        share = exact.sum() / max(int(moving.sum()), 1)
        if share > limits['part'] and exact.sum() >= 3:
            at = np.flatnonzero(exact)
            yield view.find(
                Severity.WARNING,
                name,
                f'{share:.1%} of its images repeat the one before',
                value=share,
                threshold=limits['part'],
                start_ns=features.stamps_ns[at[0]],
                end_ns=features.stamps_ns[at[-1] + 1],
                advice='the driver fills a rate that the camera does not reach',
            )


def _arm_moves(view: View, times_ns: Times) -> Flags:
    """Return (n,) whether the arm goes at least half as far as usual since the time before."""
    state = view.state
    assert state is not None
    steps = np.abs(np.diff(state.at(times_ns), axis=0)) / np.maximum(reach(state.positions), 0.05)
    far = np.concatenate([[0.0], np.nan_to_num(steps.max(axis=1))])
    going = far[far > 1e-3]
    usual = float(np.median(going)) if len(going) else np.inf
    return np.asarray(far > 0.5 * usual)

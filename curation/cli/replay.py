# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel replay``: where a checkpoint departs from what people did, without a robot."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import numpy as np

from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_alignment, add_bags, aligned
from curation.replay.divergence import measure_spread, replay, Replayed
from curation.replay.takeovers import Takeover, takeovers
from curation.train.options import TrainOptions
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.policy.base import load_policy

_LEAST_S = 0.3  # of divergence in a row, to call it that


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    parser.add_argument('--checkpoint', required=True, help='the ONNX checkpoint')
    parser.add_argument(
        '--policy',
        default='teleop_bridge.policy.onnx:OnnxPolicy',
        metavar='MODULE:CLASS',
        help='what runs it (ONNX)',
    )
    parser.add_argument('--delay-ms', type=float, default=50.0, help='of the real loop (50)')
    parser.add_argument(
        '--threshold', type=float, default=3.0, help='spreads beyond which it diverges (3)'
    )
    add_alignment(parser)
    parser.set_defaults(rate=TrainOptions().rate)


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Replay every episode and say where it diverges, and what it does at interventions."""
    failures: list[str] = []
    with output.progress('aligning'):
        episodes = list(aligned(arguments, output, failures))
    if not episodes:
        raise FlywheelError('replay: expected at least one episode, found none')
    policy = load_policy(arguments.policy, episodes[0].rig, arguments.checkpoint)
    spread = measure_spread(episodes)
    delay_ns = round(arguments.delay_ms * 1e6)
    replayed: list[Replayed] = []
    caught: list[Takeover] = []
    with output.progress('replaying') as advance:
        for episode in episodes:
            policy.reset()
            replayed.append(replay(policy, episode, spread, delay_ns=delay_ns))
            caught += takeovers(policy, episode, spread)
            advance(len(replayed), len(episodes))
    _show(replayed, caught, arguments.threshold, output)
    output.document(
        {
            'checkpoint': policy.checkpoint,
            'episodes': [_plain(one, arguments.threshold) for one in replayed],
            'takeovers': [
                {'episode': t.episode, 'id': t.intervention.id, 'phase': t.phase,
                 'distance': t.distance, 'same': t.same}
                for t in caught
            ],
            'failures': failures,
        }
    )
    return Exit.BAD_DATA if failures else Exit.OK


def _show(
    replayed: list[Replayed], caught: list[Takeover], threshold: float, output: Output
) -> None:
    total = len(replayed)
    places = Counter(phase.name for one in replayed if (phase := _where(one, threshold)))
    for name, count in places.most_common():
        output.line(f'diverges at the {name} in {count} of {total} episodes')
    output.line(f'stays with people throughout in {total - places.total()} of {total} episodes')
    by_phase: dict[str, list[float]] = {}
    by_place: dict[str, list[float]] = {}
    for one in replayed:
        for phase in one.phases:
            median = _median(one.worst[phase.start : phase.stop])
            if median is not None:
                by_phase.setdefault(phase.name, []).append(median)
        median = _median(one.worst)
        if one.episode.facts.location and median is not None:
            by_place.setdefault(one.episode.facts.location, []).append(median)
    for what, groups in (('phase', by_phase), ('location', by_place)):
        if groups:
            _show_groups(what, groups, output)
    if caught:
        same = sum(takeover.same is True for takeover in caught)
        known = sum(takeover.same is not None for takeover in caught)
        output.line(f'before {same} of {known} takeovers it does what its predecessor did')


def _show_groups(what: str, groups: dict[str, list[float]], output: Output) -> None:
    worst_first = sorted(groups.items(), key=lambda group: -float(np.median(group[1])))
    output.table(
        (what, 'episodes', 'median divergence (spreads)', 'worst episode'),
        [(name, len(v), f'{np.median(v):.2f}', f'{max(v):.2f}') for name, v in worst_first],
    )


def _where(one: Replayed, threshold: float) -> Any:
    least = max(1, round(_LEAST_S * 1e9 / one.episode.period_ns))
    return one.first_beyond(threshold, least)


def _plain(one: Replayed, threshold: float) -> dict[str, Any]:
    where = _where(one, threshold)
    return {
        'episode': one.episode.name,
        'id': one.episode.id,
        'location': one.episode.facts.location,
        'diverges_at': where.name if where else None,
        'phases': [
            {
                'name': phase.name,
                'start': phase.start,
                'stop': phase.stop,
                'median': _median(one.worst[phase.start : phase.stop]),
            }
            for phase in one.phases
        ],
        'divergence': one.worst.tolist(),
    }


def _median(part: Any) -> float | None:
    return float(np.nanmedian(part)) if np.any(np.isfinite(part)) else None

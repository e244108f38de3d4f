# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel replay``: where a checkpoint departs from what people did, without a robot."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import add_alignment, add_bags, aligned
from curation.cli.replaying import add_checkpoint, replays_of
from curation.replay.divergence import Replayed
from curation.replay.run import Replays
from curation.train.options import TrainOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    add_checkpoint(parser, required=True)
    add_alignment(parser)
    parser.set_defaults(rate=TrainOptions().rate)


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Replay every episode and say where it diverges, and what it does at interventions."""
    failures: list[str] = []
    with output.progress('aligning'):
        episodes = list(aligned(arguments, output, failures))
    replays = replays_of(arguments, episodes, output)
    _show(replays, output)
    output.document(
        {
            'checkpoint': replays.checkpoint,
            'episodes': [_plain(replays, one) for one in replays.episodes],
            'takeovers': [
                {'episode': t.episode, 'id': t.intervention.id, 'phase': t.phase,
                 'distance': t.distance, 'same': t.same}
                for t in replays.takeovers
            ],
            'failures': failures,
        }
    )
    return Exit.BAD_DATA if failures else Exit.OK


def _show(replays: Replays, output: Output) -> None:
    for sentence in replays.sentences():
        output.line(sentence)
    by_phase: dict[str, list[float]] = {}
    by_place: dict[str, list[float]] = {}
    for one in replays.episodes:
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


def _show_groups(what: str, groups: dict[str, list[float]], output: Output) -> None:
    worst_first = sorted(groups.items(), key=lambda group: -float(np.median(group[1])))
    output.table(
        (what, 'episodes', 'median divergence (spreads)', 'worst episode'),
        [(name, len(v), f'{np.median(v):.2f}', f'{max(v):.2f}') for name, v in worst_first],
    )


def _plain(replays: Replays, one: Replayed) -> dict[str, Any]:
    where = replays.diverges_at(one)
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

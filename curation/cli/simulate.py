# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel simulate``: record episodes on the simulated arm, faster than real time."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from curation.cli.exits import Exit
from curation.cli.output import Output
from recorder.headless import Driver
from recorder.headless_collection import collect, Collected, Collection, Shift
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.resources import data_file
from teleop_bridge.sim.skill import skill_named


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('--out', type=Path, required=True, help='folder that gets the bags')
    parser.add_argument(
        '--operators',
        default='better,okay,worse',
        help='skills of the simulated people, one each (better,okay,worse)',
    )
    parser.add_argument('--episodes', type=int, default=10, help='per session (10)')
    parser.add_argument('--sessions', type=int, default=1, help='per operator, one a day (1)')
    parser.add_argument('--seed', type=int, default=0, help='decides everything else (0)')
    parser.add_argument(
        '--cameras', type=size, default=(0, 0), metavar='WxH', help='size of images (none)'
    )
    parser.add_argument(
        '--policy', default='', metavar='MODULE:CLASS', help='drives, and is corrected (none)'
    )
    parser.add_argument('--checkpoint', default='', help='of the policy')
    parser.add_argument('--rig', type=Path, help='rig file (the simulated SO-101)')
    parser.add_argument('--tasks', type=Path, help='tasks file (pick and place)')
    parser.add_argument('--task', default='pick_place', help='name of the task (pick_place)')
    parser.add_argument('--jobs', type=int, default=1, help='processes (1)')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Record the collection and say how its episodes went."""
    if arguments.out.exists():
        raise FlywheelError(f'{arguments.out}: exists already; name another folder')
    width, height = arguments.cameras
    collection = Collection(
        rig=arguments.rig or data_file('config/rigs/so101_sim.yaml'),
        tasks=arguments.tasks or data_file('config/tasks/pick_place.yaml'),
        task=arguments.task,
        output=arguments.out,
        width=width,
        height=height,
        plugin=arguments.policy,
        checkpoint=arguments.checkpoint,
    )
    with output.progress('simulating') as advance:
        collected = collect(collection, _shifts(arguments), jobs=arguments.jobs, advance=advance)
    _show(collected, output)
    return Exit.OK


def _shifts(arguments: argparse.Namespace) -> list[Shift]:
    skills = [skill_named(name).name for name in arguments.operators.split(',')]
    return [
        Shift(
            operator_id=f'op{number}',
            skill=skill,
            episodes=arguments.episodes,
            seed=arguments.seed * 1_000_003 + 1009 * day + number,
            day=day,
            driver=Driver.CORRECTED if arguments.policy else Driver.HUMAN,
        )
        for day in range(arguments.sessions)
        for number, skill in enumerate(skills)
    ]


def _show(collected: list[Collected], output: Output) -> None:
    operators: dict[str, list[Collected]] = {}
    for episode in collected:
        operators.setdefault(episode.shift.operator_id, []).append(episode)
    rows = []
    for operator, episodes in operators.items():
        grades = Counter(episode.result.grade.value for episode in episodes)
        told = ', '.join(f'{count} {grade}' for grade, count in sorted(grades.items()))
        rows.append((operator, episodes[0].shift.skill, len(episodes), told))
    output.table(('operator', 'skill', 'episodes', 'grades'), rows)
    output.document([_plain(episode) for episode in collected])


def _plain(episode: Collected) -> dict[str, Any]:
    return {
        'bag': str(episode.bag),
        'id': episode.episode_id,
        'operator_id': episode.shift.operator_id,
        'skill': episode.shift.skill,
        'grade': episode.result.grade.value,
        **asdict(episode.result),
    }


def size(text: str) -> tuple[int, int]:
    """Read a size such as 160x120."""
    try:
        width, height = (int(part) for part in text.split('x'))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected such as 160x120, found '{text}'") from None
    return width, height

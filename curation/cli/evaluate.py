# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel evaluate``: how often a checkpoint solves the task on the simulated arm."""

from __future__ import annotations

import argparse
from pathlib import Path

from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.simulate import size
from curation.train.intervals import paired_difference, wilson
from recorder.headless_evaluation import Candidate, evaluate, held_out_starts
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.resources import data_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('checkpoint', help='the checkpoint')
    parser.add_argument('--against', help='another checkpoint, to compare it with')
    parser.add_argument(
        '--policy',
        default='teleop_bridge.policy.onnx:OnnxPolicy',
        metavar='MODULE:CLASS',
        help='what runs them (ONNX)',
    )
    parser.add_argument('--starts', type=int, default=100, help='held-out start states (100)')
    parser.add_argument('--rig', type=Path, help='rig file (the simulated SO-101)')
    parser.add_argument('--tasks', type=Path, help='tasks file (pick and place)')
    parser.add_argument('--task', default='pick_place', help='name of the task (pick_place)')
    parser.add_argument(
        '--cameras', type=size, default=(0, 0), metavar='WxH', help='size of images (none)'
    )
    parser.add_argument('--jobs', type=int, default=1, help='processes (1)')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Evaluate, with 95 % intervals; start states are the same for every checkpoint."""
    if arguments.starts < 1 or arguments.jobs < 1:
        raise FlywheelError('expected at least one start state and one process')
    names = [arguments.checkpoint, *([arguments.against] if arguments.against else [])]
    solved = [_solved(arguments, name, output) for name in names]
    rows = []
    for name, these in zip(names, solved, strict=True):
        low, high = wilson(sum(these), len(these))
        rate = f'{sum(these) / len(these):.1%}'
        rows.append((name, f'{sum(these)} of {len(these)}', rate, f'{low:.1%} to {high:.1%}'))
    output.table(('checkpoint', 'solved', 'rate', '95 % interval'), rows)
    document: dict[str, object] = {'solved': dict(zip(names, solved, strict=True))}
    if arguments.against:
        mean, low, high = paired_difference([solved[1]], [solved[0]])
        output.line(f'difference {mean:+.1%}, 95 % interval {low:+.1%} to {high:+.1%}, paired')
        document['difference'] = {'mean': mean, 'low': low, 'high': high}
    output.document(document)
    return Exit.OK


def _solved(arguments: argparse.Namespace, checkpoint: str, output: Output) -> list[bool]:
    candidate = Candidate(
        rig=arguments.rig or data_file('config/rigs/so101_sim.yaml'),
        tasks=arguments.tasks or data_file('config/tasks/pick_place.yaml'),
        task=arguments.task,
        plugin=arguments.policy,
        checkpoint=checkpoint,
        width=arguments.cameras[0],
        height=arguments.cameras[1],
    )
    with output.progress(f'evaluating {checkpoint}') as advance:
        results = evaluate(
            candidate, held_out_starts(arguments.starts), jobs=arguments.jobs, advance=advance
        )
    return [result.solved for result in results]

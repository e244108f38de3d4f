# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel regress``: does a checkpoint still solve what earlier ones solved."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.exceptions import ScenarioError
from curation.scenarios.library import load_library
from curation.scenarios.regress import (
    load_results,
    regressions,
    run_scenarios,
    save_results,
    write_junit,
)
from recorder.headless_cameras import headless_variant
from recorder.headless_evaluation import Candidate
from teleop_bridge.policy.base import load_policy
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('library', type=Path, help='the library file of flywheel scenarios')
    parser.add_argument('--checkpoint', default='', help='the checkpoint')
    parser.add_argument(
        '--policy',
        default='teleop_bridge.policy.onnx:OnnxPolicy',
        metavar='MODULE:CLASS',
        help='what runs it (ONNX)',
    )
    parser.add_argument(
        '--results', type=Path, help="folder of every checkpoint's results (LIBRARY.results)"
    )
    parser.add_argument('--junit', type=Path, help='JUnit XML to write')
    parser.add_argument('--rig', type=Path, help='rig file (the simulated SO-101)')
    parser.add_argument('--tasks', type=Path, help='tasks file (pick and place)')
    parser.add_argument('--jobs', type=int, default=1, help='processes (1)')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Run the library, compare with earlier results, keep these; BAD_DATA on a regression."""
    scenarios = load_library(arguments.library)
    if not scenarios:
        raise ScenarioError(
            f"{arguments.library}: expected scenarios, found none; 'flywheel scenarios' grows it"
        )
    folder = arguments.results or arguments.library.with_suffix('.results')
    candidate = Candidate(
        rig=arguments.rig or data_file('config/rigs/so101_sim.yaml'),
        tasks=arguments.tasks or data_file('config/tasks/pick_place.yaml'),
        task=scenarios[0].task,
        plugin=arguments.policy,
        checkpoint=arguments.checkpoint,
    )
    rig = headless_variant(load_rig(candidate.rig))
    policy = load_policy(candidate.plugin, rig, candidate.checkpoint)
    with output.progress('scenarios') as advance:
        outcomes = run_scenarios(
            scenarios, candidate, policy, jobs=arguments.jobs, advance=advance
        )
    earlier = load_results(folder, apart_from=policy.checkpoint)
    lost = regressions(outcomes, earlier)
    save_results(folder, policy.checkpoint, outcomes)
    if arguments.junit:
        write_junit(arguments.junit, policy.checkpoint, outcomes, lost)
    output.table(
        ('scenario', 'judged by', 'solved', 'detail'),
        [(o.scenario, o.judged.value, 'yes' if o.solved else 'no', o.detail) for o in outcomes],
    )
    solved = sum(o.solved for o in outcomes)
    output.line(f'{solved} of {len(outcomes)} solved by {policy.checkpoint[:16]}')
    for regression in lost:
        solvers = ', '.join(name[:16] for name in regression.solved_by)
        output.line(f'regression: {regression.scenario} was solved by {solvers}')
    output.document(
        {
            'checkpoint': policy.checkpoint,
            'outcomes': [asdict(o) for o in outcomes],
            'regressions': [asdict(r) for r in lost],
        }
    )
    return Exit.BAD_DATA if lost else Exit.OK

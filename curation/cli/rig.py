# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel rig``: draft a rig file from a bag, check one, or write its views."""

from __future__ import annotations

import argparse
from pathlib import Path

from curation.bag.draft import draft_text, observe, write_draft
from curation.bag.reader import open_bag
from curation.cli.exits import Exit
from curation.cli.output import Output
from teleop_bridge.rig.layout import foxglove_layout, rviz_config
from teleop_bridge.rig.loader import load_rig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        'what',
        choices=['draft', 'check', 'layout'],
        help='draft from a bag, check a file, or write its RViz and Foxglove files',
    )
    parser.add_argument('path', type=Path, help='the bag to draft from, or the rig file to check')
    parser.add_argument('--namespace', default='', help='of our nodes, in the views')
    parser.add_argument(
        '--out', type=Path, help='file of the draft (standard output), folder of the views (here)'
    )


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Draft, check or write views."""
    if arguments.what == 'layout':
        return _layout(arguments, output)
    if arguments.what == 'check':
        rig = load_rig(arguments.path)
        output.line(f'{arguments.path}: {len(rig.joints)} joints, {len(rig.streams)} streams')
        output.document({'rig': rig.name, 'joints': rig.joint_names})
        return Exit.OK
    with open_bag(arguments.path) as bag:
        if arguments.out is not None:
            write_draft(bag, arguments.out)
            output.note(f'wrote {arguments.out}: check its roles and add limits')
            return Exit.OK
        text = draft_text(bag.name, observe(bag))
    output.line(text.rstrip())
    output.document({'text': text})
    return Exit.OK


def _layout(arguments: argparse.Namespace, output: Output) -> Exit:
    rig = load_rig(arguments.path)
    folder = arguments.out or Path()
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        folder / f'{rig.name}.rviz': rviz_config(rig, namespace=arguments.namespace),
        folder / f'{rig.name}.foxglove.json': foxglove_layout(rig, namespace=arguments.namespace),
    }
    for path, text in made.items():
        path.write_text(text, encoding='utf-8')
        output.line(f'wrote {path}')
    output.document({'files': [str(path) for path in made]})
    return Exit.OK

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments that several verbs have: which bags, read by which rig, aligned how."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from curation.align.episode import Episode
from curation.align.load import load_episodes
from curation.align.options import AlignOptions, OnGap
from curation.bag.find import find_bags
from curation.cli.output import Output
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.rig.loader import load_rig


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Declare which bags."""
    parser.add_argument(
        'paths', metavar='PATH', nargs='+', type=Path, help='bags or folders of bags'
    )


def add_bags(parser: argparse.ArgumentParser) -> None:
    """Declare which bags, and the rig file for bags that carry none."""
    add_paths(parser)
    parser.add_argument('--rig', type=Path, help="rig file, for bags that don't carry theirs")


def add_alignment(parser: argparse.ArgumentParser) -> None:
    """Declare how episodes are aligned."""
    parser.add_argument(
        '--rate', type=Fraction, help="grid rate in Hz, such as 30 or 30000/1001 (the camera's)"
    )
    parser.add_argument(
        '--on-gap',
        type=OnGap,
        choices=list(OnGap),
        default=OnGap.RAISE,
        metavar='{raise,mask,split}',
        help='what to do where a stream is too stale (raise)',
    )
    parser.add_argument(
        '--keep-going', action='store_true', help='leave out bags that fail, and name them'
    )


def aligned(
    arguments: argparse.Namespace, output: Output, failures: list[str]
) -> Iterator[Episode]:
    """Yield the episodes of all bags in order; with --keep-going, failures are collected."""
    rig = load_rig(arguments.rig) if arguments.rig else None
    options = AlignOptions(rate=arguments.rate, on_gap=arguments.on_gap)
    for bag in find_bags(arguments.paths):
        try:
            yield from load_episodes(bag, rig, options)
        except FlywheelError as error:
            if not arguments.keep_going:
                raise
            failures.append(str(error))
            output.error(str(error))

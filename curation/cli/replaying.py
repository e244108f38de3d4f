# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The checkpoint that episodes are replayed against, for the verbs that do so."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from curation.align.episode import Episode
from curation.cli.output import Output
from curation.replay.run import replay_all, Replays
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.policy.base import load_policy


def add_checkpoint(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Declare the checkpoint and how it is compared with people."""
    parser.add_argument('--checkpoint', required=required, help='the ONNX checkpoint to replay')
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


def replays_of(
    arguments: argparse.Namespace, episodes: Sequence[Episode], output: Output
) -> Replays:
    """Replay the episodes; FlywheelError where there is none."""
    if not episodes:
        raise FlywheelError('replay: expected at least one episode, found none')
    policy = load_policy(arguments.policy, episodes[0].rig, arguments.checkpoint)
    with output.progress('replaying') as advance:
        return replay_all(
            policy,
            episodes,
            delay_ns=round(arguments.delay_ms * 1e6),
            threshold=arguments.threshold,
            advance=advance,
        )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel train``: behaviour cloning from bags to a checkpoint that the policy node runs."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from curation.cli.catalogs import register
from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.cli.paths import (
    add_alignment,
    add_bags,
    add_executor,
    aligned,
    manifest_of,
)
from curation.exceptions import UsageError
from curation.manifests.split import TRAIN
from curation.manifests.weights import options_from
from curation.train.examples import examples_of
from curation.train.fit import fit
from curation.train.options import TrainOptions
from curation.train.write import description, episodes_hash, write_checkpoint
from teleop_bridge.exceptions import FlywheelError

_DEFAULT = TrainOptions()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    parser.add_argument('--out', type=Path, required=True, help='the ONNX checkpoint to write')
    parser.add_argument(
        '--inputs',
        default=','.join(_DEFAULT.inputs),
        help='streams to look at beside the measured joints (%(default)s)',
    )
    parser.add_argument('--camera', default='', help='that it looks through as well (none)')
    for name, what in (
        ('image_width', "of the camera's frames as it sees them, pixels"),
        ('steps', 'actions in a chunk'),
        ('executed', 'of them, before it looks again'),
        ('epochs', 'passes over the data'),
        ('seed', 'of the first weights and the order of the data'),
    ):
        default = getattr(_DEFAULT, name)
        flag = f'--{name.replace("_", "-")}'
        parser.add_argument(flag, type=int, default=default, help=f'{what} ({default})')
    parser.add_argument(
        '--intervention-weight',
        type=float,
        help='of samples in which a person corrects a policy '
        f"(the manifest's, else {_DEFAULT.weights.intervention:g})",
    )
    parser.add_argument(
        '--autonomous-weight',
        type=float,
        help='of what a policy did by itself where it was corrected '
        f"(the manifest's, else {_DEFAULT.weights.autonomous:g})",
    )
    parser.add_argument(
        '--register', type=Path, metavar='DATA',
        help='data folder with the manifest, whose registry gets the checkpoint')
    add_alignment(parser, split=TRAIN)  # the others are held out
    add_executor(parser)
    parser.set_defaults(rate=_DEFAULT.rate)  # a chunk's actions are this far apart


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Train, write the checkpoint, and say what it is."""
    manifest = manifest_of(arguments)
    weights = options_from(manifest.chosen_by['weights']) if manifest else _DEFAULT.weights
    for name in ('intervention', 'autonomous'):
        asked = getattr(arguments, f'{name}_weight')
        if asked is not None:
            weights = replace(weights, **{name: asked})
    options = replace(
        _DEFAULT,
        inputs=tuple(name for name in arguments.inputs.split(',') if name),
        rate=arguments.rate,
        camera=arguments.camera,
        image_width=arguments.image_width,
        steps=arguments.steps,
        executed=arguments.executed,
        epochs=arguments.epochs,
        seed=arguments.seed,
        weights=weights,
    )
    if arguments.out.exists():
        raise FlywheelError(f'{arguments.out}: exists already; name another file')
    if not 0 < options.executed <= options.steps or options.epochs < 1:
        raise FlywheelError(
            'expected at least one epoch, and to execute between 1 action and a whole chunk'
        )
    if arguments.register and not arguments.manifest:
        raise UsageError('--register: expected with --manifest')
    failures: list[str] = []
    episodes = []
    with output.progress('aligning') as advance:
        for episode in aligned(arguments, output, failures, manifest):
            episodes.append(episode)
            advance(len(episodes), len(episodes))
    shares = {entry.id: entry.weight for entry in manifest.episodes} if manifest else None
    examples = examples_of(episodes, options, shares)
    with output.progress('training') as advance:
        fitted = fit(examples, options, advance)
    frozen = manifest.hash if manifest else episodes_hash([e.id for e in episodes])
    about = description(fitted, examples, options, frozen)
    write_checkpoint(fitted, about, arguments.out)
    losses = {'train_loss': fitted.train_loss, 'held_out_loss': fitted.held_out_loss}
    if manifest and arguments.register:
        register(arguments.register, arguments.out, manifest, losses)
    output.line(
        f'{arguments.out}: {len(episodes)} episodes, {len(examples)} examples,'
        f' loss {fitted.train_loss:.4f}, {fitted.held_out_loss:.4f} on episodes left out'
    )
    output.document(
        {
            'checkpoint': str(arguments.out),
            'manifest': about['manifest'],
            'episodes': len(episodes),
            'examples': len(examples),
            **losses,
            'failures': failures,
        }
    )
    return Exit.BAD_DATA if failures else Exit.OK

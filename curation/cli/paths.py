# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Arguments that several verbs have: which bags, read by which rig, aligned how."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

from curation.align.episode import Episode
from curation.align.load import load_episodes
from curation.align.options import AlignOptions, OnGap
from curation.bag.find import find_bags
from curation.cli.output import Output
from curation.exceptions import ManifestError, UsageError
from curation.manifests.file import load, Manifest
from curation.remote import local_path, path_or_url
from curation.work import Executor, Failure, Kind, make_executor
from teleop_bridge.rig.loader import load_rig

_FEW = 8  # bags, for which starting processes takes longer than aligning


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Declare which bags."""
    parser.add_argument(
        'paths', metavar='PATH', nargs='+', type=path_or_url,
        help='bags or folders of bags, or URLs of such'
    )


def add_bags(parser: argparse.ArgumentParser) -> None:
    """Declare which bags, and the rig file for bags that carry none."""
    add_paths(parser)
    parser.add_argument('--rig', type=Path, help="rig file, for bags that don't carry theirs")


def add_manifest(parser: argparse.ArgumentParser, *, split: str = '') -> None:
    """Declare the frozen list that chooses among the bags, and its usual split, empty for all."""
    parser.add_argument('--manifest', type=path_or_url, help='only its episodes, in its order')
    usual = f"{split}; '' is all" if split else 'all'
    parser.add_argument('--split', help=f'of the manifest ({usual})')
    parser.set_defaults(usual_split=split)


def manifest_of(arguments: argparse.Namespace) -> Manifest | None:
    """Read the manifest that was named; ManifestError where it is none or has no such split."""
    path = getattr(arguments, 'manifest', None)
    if path is None:
        if getattr(arguments, 'split', None) is not None:
            raise UsageError('--split: expected with --manifest')
        return None
    manifest = load(local_path(path))
    split = _split_of(arguments)
    if not manifest.of(split):
        known = sorted({entry.split for entry in manifest.episodes})
        raise ManifestError(
            f"{path}: no episode in split '{split}', found {', '.join(known) or 'none at all'}"
            " (--split names one, --split '' is all)"
        )
    return manifest


def _split_of(arguments: argparse.Namespace) -> str:
    return str(arguments.usual_split if arguments.split is None else arguments.split)


def add_alignment(parser: argparse.ArgumentParser, *, split: str = '') -> None:
    """Declare how episodes are aligned; ``split`` is the usual one of a manifest."""
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
    add_manifest(parser, split=split)


def add_executor(parser: argparse.ArgumentParser) -> None:
    """Declare where the work runs."""
    parser.add_argument(
        '--executor',
        type=Kind,
        choices=list(Kind),
        metavar='{serial,threads,processes,ray}',
        help='where work runs (processes, for a few bags serial)',
    )
    parser.add_argument('--jobs', type=int, default=0, help='workers (one a core)')
    parser.add_argument('--ray-address', default='', help='of the Ray cluster (the one running)')


def executor_of(arguments: argparse.Namespace, items: int) -> Executor:
    """Return the executor that was asked for; UsageError for less than one worker."""
    if not hasattr(arguments, 'executor'):
        return make_executor(Kind.SERIAL)
    if arguments.jobs < 0:
        raise UsageError(f'--jobs: expected at least 1, found {arguments.jobs}')
    kind = arguments.executor or (Kind.SERIAL if items < _FEW else Kind.PROCESSES)
    return make_executor(kind, arguments.jobs, arguments.ray_address)


def aligned(
    arguments: argparse.Namespace,
    output: Output,
    failures: list[str],
    manifest: Manifest | None = None,
) -> Iterator[Episode]:
    """Yield the episodes of all bags in order; with --keep-going, failures are collected.

    The manifest that was named is read here unless the caller did.
    """
    manifest = manifest or manifest_of(arguments)
    bags = find_bags(arguments.paths)
    if manifest is None:
        yield from _load(arguments, output, failures, bags)
        return
    entries = manifest.of(_split_of(arguments))
    names = {entry.name for entry in entries}
    found: dict[str, list[Episode]] = {}
    # those of other names are read only where one was renamed since
    for wanted in (True, False):
        if all(entry.id in found for entry in entries):
            break
        chosen = [bag for bag in bags if (bag.name in names) is wanted]
        for episode in _load(arguments, output, failures, chosen):
            found.setdefault(episode.id, []).append(episode)
    if missing := [entry for entry in entries if entry.id not in found]:
        first = missing[0]
        other = [e.id for part in found.values() for e in part if e.name == first.name]
        raise ManifestError(
            f'{arguments.manifest}: {len(missing)} of {len(entries)} episodes are not there, such '
            f'as {first.name}: expected content {first.id[:12]} as frozen, found '
            f'{other[0][:12] if other else "no bag of it"}'
        )
    for entry in entries:
        yield from found[entry.id]


def _load(
    arguments: argparse.Namespace, output: Output, failures: list[str], bags: Sequence[Path]
) -> Iterator[Episode]:
    rig = load_rig(arguments.rig) if arguments.rig else None
    options = AlignOptions(rate=arguments.rate, on_gap=arguments.on_gap)
    open_one = partial(load_episodes, rig=rig, options=options)
    results = executor_of(arguments, len(bags)).run(open_one, bags)
    for bag, found in zip(bags, results, strict=True):
        if not isinstance(found, Failure):
            yield from found
            continue
        if not arguments.keep_going:
            raise found.error
        text = found.about(bag)
        failures.append(text)
        output.error(text)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel manifest``: freeze, diff, verify and split lists of episodes; register models."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import asdict, replace
from fractions import Fraction
import json
from pathlib import Path

from curation.align.options import AlignOptions, OnGap
from curation.bag.find import find_bags
from curation.catalog.answer import Answer
from curation.catalog.database import writing
from curation.cli.catalogs import add_data, catalog_of, register
from curation.cli.days import day
from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.exceptions import ManifestError, UsageError
from curation.manifests.file import diff, FOLDER, load, Manifest, options_of, save
from curation.manifests.freeze import freeze, FreezeOptions, Query
from curation.manifests.lineage import made_by, paths_of, places_among, seen_by, verify
from curation.manifests.models import take_manifest
from curation.manifests.split import split, Together
from curation.manifests.weights import WeightOptions
from curation.scores.rules import load_rules

_WEIGHTS = WeightOptions()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what can be done, each with its own arguments."""
    verbs = parser.add_subparsers(dest='action', metavar='ACTION', required=True)

    def verb(name: str, what: str) -> argparse.ArgumentParser:
        return verbs.add_parser(name, help=what, description=f'{what.capitalize()}.')

    _add_freeze(verb('freeze', 'freeze what a query and rules select'))
    action = verb('diff', 'say what turns one manifest into another')
    action.add_argument('old', type=Path)
    action.add_argument('new', type=Path)
    action = verb('verify', 'read every bag again and compare its hash')
    add_data(action)
    action.add_argument('manifest', type=Path)
    action.add_argument('--bags', type=Path, nargs='+', help='search here, not in the catalog')
    action.add_argument('--jobs', type=int, default=2, help='bags at once (2)')
    action = verb('split', 'deal the episodes of a manifest into splits, as a new one')
    action.add_argument('manifest', type=Path)
    action.add_argument('out', type=Path)
    _add_split(action)
    action = verb('register-model', 'say which manifest made a checkpoint')
    add_data(action)
    action.add_argument('checkpoint', type=Path)
    action.add_argument('manifest', type=Path)
    action.add_argument('--metrics', default='{}', help='JSON, such as {"loss": 0.1}')
    action = verb('lineage', 'list what made a checkpoint, or which models saw an episode')
    add_data(action)
    which = action.add_mutually_exclusive_group(required=True)
    which.add_argument('--checkpoint', help='its hash or the beginning of it')
    which.add_argument('--episode', help='its id or the beginning of it')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Do it."""
    action = {
        'freeze': _freeze, 'diff': _diff, 'verify': _verify, 'split': _split,
        'register-model': _register, 'lineage': _lineage,
    }[arguments.action]  # fmt: skip
    return action(arguments, output)


def _add_freeze(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument('name', help='of the manifest: letters, digits, - and _')
    for name in ('task', 'operator', 'grade', 'source', 'checkpoint'):
        parser.add_argument(f'--{name}', action='append', default=[], help='only these (all)')
    parser.add_argument(
        '--session-kind', action='append', default=[], help='of sessions (collection)')
    parser.add_argument(
        '--since', type=day, default=0, help='a day such as 2026-01-31, or 7d for a week ago')
    parser.add_argument('--until', type=day, default=0, help='a day, itself not included')
    parser.add_argument('--rules', type=Path, help='rules file (the installed one)')
    parser.add_argument('--drop-task', action='append', default=[], help='that may lose all')
    parser.add_argument('--drop-review', action='store_true', help='what rules flag goes too')
    parser.add_argument('--keep-copies', action='store_true', help='near-copies stay')
    _add_split(parser)
    parser.add_argument(
        '--intervention-weight', type=float, default=_WEIGHTS.intervention,
        help='of samples in which a person corrects a policy (%(default)s)')
    parser.add_argument(
        '--autonomous-weight', type=float, default=_WEIGHTS.autonomous,
        help='of what a policy did by itself where it was corrected (%(default)s)')
    parser.add_argument('--half-life', type=float, default=0.0, help='of recency, days (none)')
    parser.add_argument('--mixture', type=_shares, default={}, help='as simulation=1,handheld=3')
    parser.add_argument('--quality', type=float, default=0.0, help='0 to 1, how much it counts')
    parser.add_argument('--mask-before', type=float, help='s before a takeover (as recorded)')
    parser.add_argument('--keep-handover', action='store_true', help='handovers are not masked')
    parser.add_argument('--rate', type=Fraction, help="grid rate in Hz (the camera's)")
    parser.add_argument('--on-gap', type=OnGap, choices=list(OnGap), default=OnGap.RAISE,
                        metavar='{raise,mask,split}', help='where a stream is stale (raise)')
    parser.add_argument('--export', default='{}', help='options of the export, as JSON')


def _add_split(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--shares', type=_shares, default={}, help='as train=8,val=1,test=1')
    parser.add_argument('--together', type=Together, choices=list(Together),
                        default=Together.BEST, metavar='{operator,session,best}',
                        help='what stays in one split beside near-copies (best)')
    parser.add_argument('--seed', type=int, default=0, help='of the split (0)')


def _freeze(arguments: argparse.Namespace, output: Output) -> Exit:
    path = _place(arguments.data, arguments.name)
    options = FreezeOptions(
        rules=load_rules(arguments.rules),
        query=Query(
            tasks=tuple(arguments.task),
            operators=tuple(arguments.operator),
            grades=tuple(arguments.grade),
            sources=tuple(arguments.source),
            checkpoints=tuple(arguments.checkpoint),
            session_kinds=tuple(arguments.session_kind) or Query.session_kinds,
            since_ns=arguments.since,
            until_ns=arguments.until,
        ),
        weights=WeightOptions(
            intervention=arguments.intervention_weight,
            autonomous=arguments.autonomous_weight,
            half_life_days=arguments.half_life,
            mixture=arguments.mixture,
            quality=arguments.quality,
            mask_handover=not arguments.keep_handover,
            mask_before_s=arguments.mask_before,
        ),
        shares=arguments.shares,
        together=arguments.together,
        seed=arguments.seed,
        keep_review=not arguments.drop_review,
        one_of_copies=not arguments.keep_copies,
        drop_tasks=tuple(arguments.drop_task),
    )
    about = options_of(
        AlignOptions(rate=arguments.rate, on_gap=arguments.on_gap),
        _json(arguments.export, '--export'),
    )
    for warning in options.weights.warnings():
        output.note(f'warning: {warning}')
    engine = catalog_of(arguments)
    with engine.begin() as connection:
        frozen = freeze(connection, arguments.name, options, about)
    save(frozen.manifest, path)
    with writing(engine) as connection:
        take_manifest(connection, frozen.manifest, path)
    for reason, count in Counter(reason for _, reason in frozen.left_out).most_common():
        output.line(f'left out {count}: {reason}')
    _tell(frozen.manifest, path, output, left_out=len(frozen.left_out))
    return Exit.OK


def _diff(arguments: argparse.Namespace, output: Output) -> Exit:
    found = diff(load(arguments.old), load(arguments.new))
    rows = [('added', e.id[:12], e.name, e.split) for e in found.added]
    rows += [('removed', e.id[:12], e.name, e.split) for e in found.removed]
    for old, new in found.changed:
        before, after = asdict(old), asdict(new)
        changes = ', '.join(f'{k}: {before[k]} → {after[k]}' for k in before
                            if before[k] != after[k])
        rows.append(('changed', old.id[:12], old.name, changes))
    output.table(('what', 'episode', 'name', 'split or change'), rows)
    if found.chosen_by:
        output.line(f'chosen by other {", ".join(found.chosen_by)}')
    if found.reordered:
        output.line('in another order')
    output.document({**asdict(found)})
    return Exit.OK


def _verify(arguments: argparse.Namespace, output: Output) -> Exit:
    manifest = load(arguments.manifest)
    if arguments.bags:
        places = places_among(find_bags(arguments.bags))
    else:
        with catalog_of(arguments).begin() as connection:
            places = paths_of(connection, manifest)
    with output.progress('hashing') as advance:
        found = verify(manifest, places, jobs=arguments.jobs, advance=advance)
    for problem in found.wrong.values():
        output.error(problem)
    output.line(f'{found.good} of {len(manifest.episodes)} episodes as frozen')
    output.document(asdict(found))
    return Exit.BAD_DATA if found.wrong else Exit.OK


def _split(arguments: argparse.Namespace, output: Output) -> Exit:
    manifest = load(arguments.manifest)
    shares = arguments.shares
    dealt, together = split(
        manifest.episodes, shares, together=arguments.together, seed=arguments.seed)
    made = Manifest(
        arguments.out.stem,
        {
            **manifest.chosen_by,
            'split': {
                'shares': shares, 'together': together.value, 'seed': arguments.seed,
                'of': manifest.hash,
            },
        },
        tuple(replace(entry, split=dealt[entry.id]) for entry in manifest.episodes),
    )
    save(made, arguments.out)
    _tell(made, arguments.out, output)
    return Exit.OK


def _register(arguments: argparse.Namespace, output: Output) -> Exit:
    manifest = load(arguments.manifest)
    metrics = _json(arguments.metrics, '--metrics')
    catalog_of(arguments)  # one must be there
    model = register(
        arguments.data, arguments.checkpoint, manifest, metrics, catalog=arguments.catalog
    )
    output.line(f'{model.file} ({model.checkpoint[:12]}) was made by {manifest.name}')
    output.document(asdict(model))
    return Exit.OK


def _lineage(arguments: argparse.Namespace, output: Output) -> Exit:
    found: Answer
    with catalog_of(arguments).begin() as connection:
        if arguments.checkpoint:
            found = made_by(connection, arguments.checkpoint)
        else:
            found = seen_by(connection, arguments.episode)
    output.table([column.replace('_', ' ') for column in found.columns], found.rows)
    output.document(found.documents())
    return Exit.OK


def _tell(manifest: Manifest, path: Path, output: Output, **more: object) -> None:
    counts = Counter((entry.split, entry.task) for entry in manifest.episodes)
    rows = [(name, task, count) for (name, task), count in sorted(counts.items())]
    output.table(('split', 'task', 'episodes'), rows)
    together = manifest.chosen_by.get('split', {}).get('together')
    output.line(f'{path}: {len(manifest.episodes)} episodes, hash {manifest.hash[:16]}')
    output.document(
        {
            'path': str(path),
            'hash': manifest.hash,
            'episodes': len(manifest.episodes),
            'splits': dict(Counter(entry.split for entry in manifest.episodes)),
            'together': together,
            **more,
        }
    )


def _place(data: Path, name: str) -> Path:
    if not name or not all(c.isascii() and (c.isalnum() or c in '-_') for c in name):
        raise UsageError(f"name: expected letters, digits, - and _, found '{name}'")
    return data / FOLDER / f'{name}.json'


def _json(text: str, option: str) -> dict[str, object]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ManifestError(f'{option}: expected JSON, found {text!r} ({error})') from error
    if not isinstance(content, dict):
        raise ManifestError(f'{option}: expected a JSON object, found {text!r}')
    return content


def _shares(text: str) -> dict[str, float]:
    try:
        pairs = [part.partition('=') for part in text.split(',')]
        return {name.strip(): float(share) for name, _, share in pairs}
    except ValueError:
        raise argparse.ArgumentTypeError(f'expected as train=8,val=1, found {text!r}') from None

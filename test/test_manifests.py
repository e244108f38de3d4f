# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Manifests freeze what was chosen, show every change, and lead from models to bytes and back."""

from __future__ import annotations

from dataclasses import replace
import json
from pathlib import Path
import shutil
from typing import Any

import pytest

from curation.align.options import AlignOptions
from curation.catalog.annotations import annotate, What
from curation.catalog.database import open_catalog
from curation.catalog.ingest import write_records
from curation.catalog.record import Record
from curation.catalog.reviewed import take_annotations
from curation.cli.exits import Exit
from curation.cli.main import main
from curation.exceptions import ManifestError, RulesError
from curation.manifests import file
from curation.manifests.file import diff, Entry, load, Manifest, options_of, save
from curation.manifests.freeze import freeze, FreezeOptions, Frozen, Query
from curation.manifests.models import checkpoint_hash, read_models, register_model
from curation.scores.rules import load_rules, parse_rules
from support.records import DAY_NS, EPOCH_NS, make_record

ABOUT = options_of(AlignOptions(), {'format': 'lerobot'})
HOSTILE = '"; DROP TABLE x --\'<b>../../\N{PILE OF POO}' + 300 * 'n'


def freeze_of(folder: Path, records: list[Record], name: str = 'm', **options: Any) -> Frozen:
    engine = open_catalog(folder)
    with engine.begin() as connection:
        write_records(connection, records)
        take_annotations(connection, [folder])
        chosen = FreezeOptions(rules=load_rules(), **options)
        return freeze(connection, name, chosen, ABOUT)


def test_freezing_again_gives_the_same_hash_and_the_file_comes_back(tmp_path: Path) -> None:
    records = [make_record(n, task=HOSTILE if n % 2 else 't') for n in range(8)]
    first, again = freeze_of(tmp_path, records), freeze_of(tmp_path, records[::-1])
    assert first.manifest.hash == again.manifest.hash
    save(first.manifest, tmp_path / 'm.json')
    assert load(tmp_path / 'm.json') == first.manifest
    assert [e.name for e in first.manifest.episodes] == [f'e{n}' for n in range(8)]
    assert first.manifest.chosen_by['alignment']['hash'] == ABOUT['alignment']['hash']


def test_a_manifest_is_never_changed(tmp_path: Path) -> None:
    made = freeze_of(tmp_path, [make_record(0), make_record(1)]).manifest
    save(made, tmp_path / 'm.json')
    with pytest.raises(ManifestError, match='exists already'):
        save(made, tmp_path / 'm.json')
    text = (tmp_path / 'm.json').read_text()
    (tmp_path / 'm.json').write_text(text.replace('"op1"', '"op2"', 1))
    with pytest.raises(ManifestError, match='the file was changed'):
        load(tmp_path / 'm.json')
    (tmp_path / 'm.json').write_text('{}')
    with pytest.raises(ManifestError, match='expected .teleop_flywheel manifest 1'):
        load(tmp_path / 'm.json')


def test_queries_rules_people_and_copies_decide_with_reasons(tmp_path: Path) -> None:
    records = [
        make_record(0),
        make_record(1, grade='failure'),
        make_record(2, outline=0.0),  # goes the way of the first
        make_record(3),
        make_record(4, operator='op2'),
        make_record(5, kind='evaluation', session='eval'),
        make_record(6, day=3),
    ]
    annotate(tmp_path, records[3].episode_id, What.VERDICT, 'drop', by='a')
    annotate(tmp_path, records[1].episode_id, What.GRADE, 'success_first_try', by='a')
    until = Query(operators=('op1',), until_ns=EPOCH_NS + DAY_NS)
    frozen = freeze_of(tmp_path, records, query=until)
    assert [entry.name for entry in frozen.manifest.episodes] == ['e0', 'e1']
    assert [(d.known.row.name, why) for d, why in frozen.left_out] == [
        ('e2', 'nearly a copy of one that is kept'), ('e3', 'a person said drop')
    ]
    kept = freeze_of(tmp_path, records, query=until, one_of_copies=False).manifest
    assert kept.episodes[2].cluster == kept.episodes[0].id


def test_rules_that_would_empty_a_task_stop(tmp_path: Path) -> None:
    records = [make_record(0), make_record(1, task='b', grade='failure')]
    with pytest.raises(RulesError, match="every episode of 'b'"):
        freeze_of(tmp_path, records)
    assert len(freeze_of(tmp_path, records, drop_tasks=('b',)).manifest.episodes) == 1
    rules = parse_rules(
        'rules: {all: {then: drop, when: {duration_s: {above: 0}}, why: none is good}}'
    )
    with open_catalog(tmp_path).begin() as connection, pytest.raises(RulesError, match='all 2'):
        freeze(connection, 'm', FreezeOptions(rules=rules), ABOUT)
    with pytest.raises(ManifestError, match='finds no episode'):
        freeze_of(tmp_path, records, query=Query(tasks=('no',)))


def test_diff_names_what_came_went_and_changed(tmp_path: Path) -> None:
    old = freeze_of(tmp_path, [make_record(n) for n in range(3)]).manifest
    entries = list(old.episodes)
    entries[1] = replace(entries[1], split='val')
    added = replace(entries[0], id='f' * 64)
    new = Manifest('n', {**old.chosen_by, 'rules': 'others'}, (*entries[1:], added))
    found = diff(old, new)
    assert [e.id for e in found.added] == [added.id]
    assert [e.name for e in found.removed] == ['e0']
    assert [(a.split, b.split) for a, b in found.changed] == [('train', 'val')]
    assert found.chosen_by == ('rules',)
    assert not found.reordered
    assert diff(old, Manifest('n', old.chosen_by, old.episodes[::-1])).reordered


def entry(number: int) -> Entry:
    return Entry(f'{number:064x}', 'train', 1.0, 'n', 't', '', 'o', 's', 'r', '', 'x', '')


def test_a_manifest_of_a_thousand_episodes_is_a_small_readable_file(tmp_path: Path) -> None:
    save(Manifest('big', ABOUT, tuple(map(entry, range(1000)))), tmp_path / 'm.json')
    text = (tmp_path / 'm.json').read_text()
    assert len(text) < 300_000
    assert sum('"id"' in line for line in text.splitlines()) == 1000  # a line each


NAMES = [
    'plain', HOSTILE, '\udcff lone', 'zw\u00f6lf \u2028', ',\n  ', '\n ]\n}\n', '"episodes": [\n  '
]


def named(*names: str) -> Manifest:
    entries = (replace(entry(i), name=name) for i, name in enumerate(names))
    return Manifest('m', {'note': '\n "episodes": [\n  {}', 'episodes': [{}]}, tuple(entries))


@pytest.mark.parametrize('names', [NAMES, NAMES[:1], []], ids=['many', 'one', 'none'])
def test_a_file_s_lines_are_hashed_as_they_stand(
    names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = named(*names)
    save(made, tmp_path / 'm.json')
    rewritten: list[object] = []
    canonical = file._canonical

    def watched(content: object) -> bytes:
        rewritten.append(content)
        return canonical(content)

    monkeypatch.setattr(file, '_canonical', watched)
    read = load(tmp_path / 'm.json')
    assert (read, read.hash) == (made, made.hash)
    assert rewritten == [made.chosen_by, file.FORMAT, made.name]  # no episode


@pytest.mark.parametrize(
    'layout',
    [{}, {'indent': 1}, {'indent': 4, 'sort_keys': True}, {'separators': (',', ':')},
     {'ensure_ascii': False}],
    ids=str,
)  # fmt: skip
def test_a_manifest_that_another_tool_laid_out_is_the_same_and_a_changed_one_refused(
    layout: dict[str, Any], tmp_path: Path
) -> None:
    made, path = named(*NAMES), tmp_path / 'm.json'
    save(made, path)
    content = json.loads(path.read_bytes())
    content['episodes'] = [dict(reversed(row.items())) for row in content['episodes']]
    path.write_text(json.dumps(content, **layout), 'utf-8', 'surrogatepass', '\r\n')
    read = load(path)
    assert (read, read.hash) == (made, made.hash)
    content['episodes'][1]['weight'] = 2.0
    path.write_text(json.dumps(content, **layout), 'utf-8', 'surrogatepass')
    with pytest.raises(ManifestError, match='the file was changed'):
        load(path)


def test_a_line_more_or_less_or_elsewhere_is_a_change(tmp_path: Path) -> None:
    path = tmp_path / 'm.json'
    save(named('a', 'b', 'c'), path)
    before, rows = path.read_text().rsplit('[\n  ', 1)
    first, second, third = rows.removesuffix('\n ]\n}\n').split(',\n  ')
    for changed in ([first, second], [second, first, third], [first, second, third, third]):
        path.write_text(before + '[\n  ' + ',\n  '.join(changed) + '\n ]\n}\n')
        with pytest.raises(ManifestError, match='the file was changed'):
            load(path)
    path.write_text(before + '[\n  "no episode"\n ]\n}\n')
    with pytest.raises(ManifestError, match='expected every field of an episode'):
        load(path)


def test_a_manifest_keeps_its_hash_from_one_version_of_ours_to_the_next() -> None:
    assert named(*NAMES).hash == (
        '4d2f7f40d5a71359344a631c8e909253b77305356a57b8f5959e90524da20a6d'
    )


@pytest.fixture(scope='module')
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip('mujoco', reason='the simulated rig needs pip install mujoco')
    from recorder.headless import Attempt
    from support.simulated import simulate

    folder = tmp_path_factory.mktemp('data')
    simulate(folder, [Attempt(1), Attempt(2), Attempt(5)])
    assert main(['ingest', str(folder)]) is Exit.OK
    return folder


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[Exit, Any]:
    code = main([*map(str, arguments), '--json'])
    out = capsys.readouterr().out
    return Exit(code), json.loads(out) if out else None


def test_from_a_checkpoint_to_the_bytes_and_back(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / 'd'
    shutil.copytree(data, folder, ignore=shutil.ignore_patterns('catalog.sqlite*'))
    assert main(['ingest', str(folder)]) is Exit.OK
    capsys.readouterr()
    code, made = command(capsys, 'manifest', 'freeze', folder, 'first', '--autonomous-weight', '0')
    assert load(folder / 'manifests' / 'first.json').chosen_by['weights']['autonomous'] == 0
    assert (code, made['episodes']) == (Exit.OK, 3)
    manifest = folder / 'manifests' / 'first.json'
    checkpoint = tmp_path / 'policy.onnx'
    checkpoint.write_bytes(b'weights')
    code, model = command(
        capsys, 'manifest', 'register-model', folder, checkpoint, manifest,
        '--metrics', '{"loss": 0.5}',
    )
    assert (code, model['checkpoint']) == (Exit.OK, checkpoint_hash(checkpoint))
    _, made_by = command(
        capsys, 'manifest', 'lineage', folder, '--checkpoint', model['checkpoint'][:10]
    )
    assert [row['episode'] for row in made_by] == [e.id for e in load(manifest).episodes]
    assert all(Path(row['path']).is_dir() and row['rig'] and row['rig_hash'] for row in made_by)
    episode = made_by[0]['episode']
    _, (back,) = command(capsys, 'manifest', 'lineage', folder, '--episode', episode)
    assert (back['checkpoint'], back['split']) == (model['checkpoint'], 'train')
    _, (told,) = command(capsys, 'ask', 'model', folder)
    assert json.loads(told['metrics']) == {'loss': 0.5}
    # a catalog that was thrown away gets its manifests and models back from their files
    assert main(['ingest', str(folder), '--rebuild']) is Exit.OK
    capsys.readouterr()
    assert command(capsys, 'ask', 'model', folder)[1] == [told]


def test_verify_reads_every_bag_again(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / 'd'
    shutil.copytree(data, folder, ignore=shutil.ignore_patterns('catalog.sqlite*'))
    assert main(['ingest', str(folder)]) is Exit.OK
    capsys.readouterr()
    command(capsys, 'manifest', 'freeze', folder, 'm')
    manifest = folder / 'manifests' / 'm.json'
    assert command(capsys, 'manifest', 'verify', folder, manifest)[1]['good'] == 3
    bags = sorted(path.parent for path in folder.rglob('metadata.yaml'))
    bags[0].rename(folder / 'elsewhere')  # renamed and not ingested again
    code, found = command(
        capsys, 'manifest', 'verify', folder, manifest, '--bags', folder
    )
    assert (code, found['good']) == (Exit.OK, 3)
    shutil.rmtree(bags[1])
    shutil.copytree(bags[2], bags[1])  # another content where one was frozen
    code, found = command(capsys, 'manifest', 'verify', folder, manifest)
    assert (code, found['good']) == (Exit.BAD_DATA, 1)
    assert sorted('can not be read' in text or 'expected content' in text
                  for text in found['wrong'].values()) == [True, True]


def test_verbs_that_read_bags_take_those_of_a_manifest(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_catalog(data).begin() as connection:
        options = FreezeOptions(rules=load_rules())
        whole = freeze(connection, 'm', options, ABOUT).manifest
    entries = (replace(whole.episodes[2], split='val'), *whole.episodes[:2])
    save(Manifest('m', whole.chosen_by, entries), tmp_path / 'm.json')
    chosen = ['score', data, '--manifest', tmp_path / 'm.json']
    _, scores = command(capsys, *chosen, '--information')
    assert all(isinstance(score['information'], float) for score in scores)
    assert [score['episode_id'] for score in scores] == [e.id for e in entries]
    assert len(command(capsys, *chosen, '--split', 'train')[1]) == 2
    assert main([*map(str, chosen), '--split', 'no']) is Exit.BAD_DATA
    assert "no episode in split 'no'" in capsys.readouterr().err
    bag = next(path.parent for path in data.rglob('metadata.yaml'))
    assert main(['score', str(bag), '--manifest', str(tmp_path / 'm.json')]) is Exit.BAD_DATA
    assert '2 of 3 episodes are not there' in capsys.readouterr().err


def test_a_model_of_an_unknown_manifest_is_refused(tmp_path: Path) -> None:
    checkpoint = tmp_path / 'p.onnx'
    checkpoint.write_bytes(b'x')
    with pytest.raises(ManifestError, match='expected manifest'):
        register_model(tmp_path, checkpoint, Manifest('m', {}, ()), {})
    assert read_models(tmp_path) == []
    with pytest.raises(ManifestError, match='can not be read'):
        checkpoint_hash(tmp_path / 'none')


@pytest.mark.parametrize('name', ['../x', 'a/b', '', '\N{PILE OF POO}', 'a b'])
def test_hostile_manifest_names_are_refused(
    data: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['manifest', 'freeze', str(data), name]) is Exit.USAGE
    assert 'expected letters' in capsys.readouterr().err

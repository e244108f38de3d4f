# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Bags, manifests and exports at URLs, on a server that speaks S3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from curation.bag.find import find_bags
from curation.catalog.database import FILE_NAME
from curation.cli.exits import Exit
from curation.cli.main import main
from curation.exceptions import RemoteError
from curation.manifests.file import load, save
from curation.remote import local_path, path_or_url, Url
from recorder.headless import Attempt
from support.simulated import simulate

pytestmark = [
    pytest.mark.skipif(
        any(find_spec(name) is None for name in ('moto', 's3fs', 'mujoco')),
        reason='S3 needs pip install s3fs moto[server], the simulated rig mujoco'),
]


@pytest.fixture(scope='module')
def bags(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    attempts = [Attempt(seed, limit_ns=1_000_000_000) for seed in (1, 2)]
    return simulate(tmp_path_factory.mktemp('bags'), attempts)


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer('127.0.0.1', 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        'AWS_ACCESS_KEY_ID': 'a', 'AWS_SECRET_ACCESS_KEY': 'b', 'AWS_DEFAULT_REGION': 'us-east-1',
        'AWS_ENDPOINT_URL': f'http://{host}:{port}', 'XDG_CACHE_HOME': str(tmp_path / 'cache'),
    }.items():
        monkeypatch.setenv(name, value)
    import s3fs

    urlopen(Request(f'http://{host}:{port}/moto-api/reset', method='POST')).close()
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem().mkdir('lab')
    yield 's3://lab'
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def put(folder: Path, url: str) -> None:
    import s3fs

    s3fs.S3FileSystem().put(str(folder), f'{url}/', recursive=True)


def test_bags_at_a_url_are_exported_to_a_url_as_from_a_folder(
    bags: list[Path], bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for bag in bags:
        put(bag, f'{bucket}/day')
    assert main(['export', f'{bucket}/day', '--out', f'{bucket}/sets/demo', '--json']) is Exit.OK
    assert json.loads(capsys.readouterr().out)['path'] == f'{bucket}/sets/demo'
    out = tmp_path / 'local'
    assert main(['export', *map(str, bags), '--out', str(out)]) is Exit.OK
    remote = local_path(Url(f'{bucket}/sets/demo'))
    names = sorted(str(path.relative_to(out)) for path in out.rglob('*') if path.is_file())
    assert names == sorted(
        str(path.relative_to(remote)) for path in remote.rglob('*') if path.is_file())
    assert all((out / name).read_bytes() == (remote / name).read_bytes() for name in names)
    capsys.readouterr()
    assert main(['export', f'{bucket}/day', '--out', f'{bucket}/sets/demo']) is Exit.BAD_DATA
    assert 's3://lab/sets/demo: exists already' in capsys.readouterr().err


def test_a_manifest_at_a_url_chooses_among_bags_at_a_url(
    bags: list[Path], bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for bag in bags:
        put(bag, f'{bucket}/day')
    data = tmp_path / 'data'
    data.mkdir()

    def told(*arguments: str, code: Exit = Exit.OK) -> Any:
        assert main([*arguments, '--json']) is code
        return json.loads(capsys.readouterr().out)

    assert main(['ingest', f'{bucket}/day']) is Exit.USAGE
    assert '--catalog: expected with s3://lab/day' in capsys.readouterr().err
    catalog = str(data / FILE_NAME)
    assert told('ingest', f'{bucket}/day', '--catalog', catalog)['added'] == 2
    found = told('check', f'{bucket}/day', code=Exit.BAD_DATA)  # a second is too short
    assert found == told('check', *map(str, bags), code=Exit.BAD_DATA) != []
    rules = tmp_path / 'rules.yaml'  # those that are installed drop what is too short
    rules.write_text("rules: {ungraded: {then: review, when: {grade: {in: ['']}}, why: none}}")
    told('manifest', 'freeze', str(data), 'm', '--rules', str(rules), '--keep-copies')
    frozen = load(data / 'manifests/m.json')
    one = replace(frozen, name='one', episodes=frozen.episodes[1:])
    save(one, data / 'manifests/one.json')
    put(data / 'manifests', f'{bucket}/lab')
    out = f'{bucket}/sets/one'
    exported = told(
        'export', f'{bucket}/day', '--manifest', f'{bucket}/lab/manifests/one.json', '--out', out)
    assert exported['episodes'] == [one.episodes[0].id]
    about = json.loads((local_path(Url(out)) / 'meta/flywheel/export.json').read_text())
    assert about['manifest'] == one.hash


def test_only_what_changed_is_read_again(bags: list[Path], bucket: str) -> None:
    import s3fs

    put(bags[0], f'{bucket}/day')
    (mirrored,) = find_bags([Url(f'{bucket}/day')])
    inodes = {path.name: path.stat().st_ino for path in mirrored.iterdir()}
    changed = mirrored / 'metadata.yaml'
    text = changed.read_text() + '# more\n'
    s3fs.S3FileSystem().pipe_file(f'lab/day/{bags[0].name}/metadata.yaml', text.encode())
    find_bags([Url(f'{bucket}/day')])
    assert changed.read_text() == text
    assert [name for name, inode in inodes.items()
            if (mirrored / name).stat().st_ino != inode] == ['metadata.yaml']
    s3fs.S3FileSystem().rm(f'lab/day/{bags[0].name}/metadata.yaml')
    assert find_bags([Url(f'{bucket}/day')]) == [mirrored]
    assert not changed.exists()


def test_what_is_not_there_is_named(bucket: str) -> None:
    with pytest.raises(RemoteError, match='s3://lab/none: expected a file or folder, found none'):
        find_bags([Url(f'{bucket}/none')])
    with pytest.raises(RemoteError, match='nowhere://x: '):
        local_path(Url('nowhere://x'))


def test_a_path_stays_a_path() -> None:
    assert path_or_url('a/b') == Path('a/b')
    assert path_or_url('file:///a/b/') == Url('file:///a/b')

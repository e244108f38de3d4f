# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A bag is freed here only once its very content is there."""

from __future__ import annotations

import json
from pathlib import Path
import shutil
import sys

import pytest

from curation.cli.main import main
from recorder import offload as module
from recorder.bag.content_id import content_id
from recorder.bag.mcap_reader import bag_file
from recorder.exceptions import BagCorruptError, BagExistsError
from recorder.offload import discarded, offload
from support.bags import write_bag


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    path = tmp_path / 'bags/s1/s1_e0000'
    write_bag(path, messages=20)
    (path.parent / 'session.json').write_text('{"plan": {}}\n')
    return path


def test_copied_verified_and_freed(bag: Path, tmp_path: Path) -> None:
    number = content_id(bag)
    kept = offload(bag, str(tmp_path / 'disk'))
    assert bag.is_dir() and kept.copied and not kept.freed
    again = offload(bag, str(tmp_path / 'disk'), free=True)
    assert not again.copied and not bag.exists()
    assert content_id(tmp_path / 'disk/s1/s1_e0000') == number == again.id
    assert (tmp_path / 'disk/s1/session.json').read_text() == '{"plan": {}}\n'


def test_copy_that_differs_is_removed_and_the_source_stays(
    bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.copytree

    def bad(source: Path, target: Path) -> None:
        real(source, target)
        data = bytearray(bag_file(target).read_bytes())
        data[data.index(b'shoulder', 3000)] ^= 1
        bag_file(target).write_bytes(data)

    monkeypatch.setattr(module.shutil, 'copytree', bad)
    with pytest.raises(BagCorruptError):
        offload(bag, str(tmp_path / 'disk'), free=True)
    assert bag.is_dir() and not list((tmp_path / 'disk').glob('**/*.mcap'))


def test_another_bag_in_its_place_is_left_alone(bag: Path, tmp_path: Path) -> None:
    write_bag(tmp_path / 'disk/s1/s1_e0000', messages=21)
    with pytest.raises(BagExistsError, match='nothing is removed'):
        offload(bag, str(tmp_path / 'disk'), free=True)
    assert bag.is_dir()


def test_host_is_reached_by_ssh_and_asked_for_the_id(
    bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an ssh that runs the command here."""
    tools = tmp_path / 'tools'
    tools.mkdir()
    for name, line in (
        ('ssh', 'shift; exec sh -c "$*"'),
        ('flywheel', f'exec {sys.executable} -m curation.cli.main "$@"'),
    ):
        (tools / name).write_text(f'#!/bin/sh\n{line}\n')
        (tools / name).chmod(0o755)
    monkeypatch.setenv('PATH', f'{tools}:/usr/bin:/bin')
    number = content_id(bag)
    done = offload(bag, f'archive:{tmp_path}/far', free=True)
    assert done.target == f'archive:{tmp_path}/far/s1/s1_e0000' and not bag.exists()
    assert content_id(tmp_path / 'far/s1/s1_e0000') == number
    assert (tmp_path / 'far/s1/session.json').read_text() == '{"plan": {}}\n'


def test_verbs(bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bag(bag.parent / 'discarded/s1_e0001', messages=3)
    assert main(['offload', '--json', str(bag.parent), '--to', str(tmp_path / 'disk')]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [entry['path'] for entry in document] == [str(bag)]
    assert main(['prune', str(tmp_path / 'bags')]) == 0
    assert len(discarded(tmp_path / 'bags')) == 1
    assert main(['prune', str(tmp_path / 'bags'), '--yes']) == 0
    assert discarded(tmp_path / 'bags') == [] and bag.is_dir()

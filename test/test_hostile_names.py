# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Quotes, paths, HTML, emoji and 300 characters go from a bag to the catalog, manifest, report."""

from __future__ import annotations

from dataclasses import replace
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip('mujoco', reason='the simulated rig needs pip install mujoco')

from curation.catalog.questions import QUESTIONS
from curation.cli.exits import Exit
from curation.cli.main import main
from curation.manifests.file import load
from recorder.headless import Attempt, HeadlessRig
from recorder.headless_cameras import headless_variant
from recorder.headless_session import HeadlessSession
from support.simulated import RIG_FILE, TASKS_FILE
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.tasks import load_tasks

OPERATOR = '"\'; -- <img src=x onerror=alert(1)> .. \N{PILE OF POO}'  # names the bag's folder
HOSTILE = f'{OPERATOR} ../../etc; DROP TABLE episodes; ' + 300 * 'n'
FOLDER = '"\' <b>..\\;$(id) \N{PILE OF POO}' + 100 * 'n'


@pytest.fixture(scope='module')
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rig, tasks = headless_variant(load_rig(RIG_FILE), width=0, height=0), load_tasks(TASKS_FILE)
    task = replace(tasks.task('pick_place'), name=HOSTILE, text=HOSTILE)
    folder = tmp_path_factory.mktemp('data')
    session = HeadlessSession(
        HeadlessRig(rig, task), rig, tasks, task, output=folder, session_id='s',
        operator_id=OPERATOR,
    )  # fmt: skip
    for seed in (1, 2):
        bag = session.record(Attempt(seed), location=HOSTILE)[1].path
        bag.rename(folder / f'{seed}{FOLDER}')
    return folder


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert main([*map(str, arguments), '--json']) is Exit.OK
    return json.loads(capsys.readouterr().out)


def test_all_the_way(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(capsys, 'ingest', data)['added'] == 2
    (row,) = command(capsys, 'ask', 'collectors', data, '--task', HOSTILE)
    assert (row['operator'], row['task'], row['episodes']) == (OPERATOR, HOSTILE, 2)
    for question in QUESTIONS:
        command(capsys, 'ask', question, data)
        assert main(['ask', question, str(data)]) is Exit.OK
        capsys.readouterr()
    made = command(capsys, 'manifest', 'freeze', data, 'm')
    manifest = load(Path(made['path']))
    assert {(e.task, e.operator) for e in manifest.episodes} == {(HOSTILE, OPERATOR)}
    assert command(capsys, 'manifest', 'verify', data, made['path'])['good'] == 2
    first = manifest.episodes[0].id
    said = command(capsys, 'review', data, '--episode', first, '--by', HOSTILE, '--note', HOSTILE)
    assert said['history'][0]['value'] == HOSTILE
    out = tmp_path / 'report'
    command(capsys, 'report', data, '--out', out)
    text = (out / 'index.html').read_text()
    assert '<img' not in text
    pages = [path.parent for path in out.rglob('*.html')]
    assert sorted(pages) == [out, out / 'episodes', out / 'episodes']

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The demo's child processes: a death is one clear error, the end is orderly."""

from __future__ import annotations

import os
from pathlib import Path
import time

import pytest

from curation.demo.children import Children
from curation.exceptions import ChildError
from teleop_bridge.rig.bringup import Process


class Script(Process):
    """A process that is one of the small programs written by these tests."""

    @property
    def module(self) -> str:
        return self.executable


@pytest.fixture
def children(tmp_path: Path) -> Children:
    (tmp_path / 'patient.py').write_text(
        'import signal, sys, time\n'
        "signal.signal(signal.SIGINT, lambda *_: (print('closing'), sys.exit(0)))\n"
        "print('ready', flush=True)\ntime.sleep(60)\n"
    )
    (tmp_path / 'failing.py').write_text("import sys\nprint('no such rig')\nsys.exit(3)\n")
    environment = {**os.environ, 'PYTHONPATH': str(tmp_path)}
    return Children(logs=tmp_path / 'logs', environment=environment)


def wait_for(path: Path, text: str) -> None:
    for _ in range(600):
        if path.exists() and text in path.read_text():
            return
        time.sleep(0.02)
    raise AssertionError(f'{path} never said {text}')


def check_for_a_while(children: Children) -> None:
    for _ in range(600):
        children.check()
        time.sleep(0.02)


def test_a_death_names_the_process_its_last_words_and_its_log(children: Children) -> None:
    with children:
        children.start(Script('failing', 'leader'))
        with pytest.raises(ChildError) as raised:
            check_for_a_while(children)
    log = children.logs / 'leader.log'
    assert str(raised.value) == (
        f"leader ended (exit code 3) while it was needed; it last said 'no such rig' ({log})"
    )


def test_all_are_ended_by_an_interrupt_when_the_block_is_left(children: Children) -> None:
    with children:
        for name in ('one', 'two'):
            children.start(Script('patient', name, {'rig': 'bench.yaml', 'task': '007'}))
        for name in ('one', 'two'):
            wait_for(children.logs / f'{name}.log', 'ready')
        children.check()
        assert children.stop() == []
    for name in ('one', 'two'):
        assert 'closing' in (children.logs / f'{name}.log').read_text()
    assert "task: '007'" in (children.logs / 'one.yaml').read_text()

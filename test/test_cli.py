# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The program flywheel: what it prints, its exit codes, one line for a mistake."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from curation.checks.finding import Finding, Severity
from curation.cli import info
from curation.cli.demo import episodes_by_check
from curation.cli.exits import Exit
from curation.cli.main import main, VERBS
from support.bags import write_bag


def test_info_tells_what_a_bag_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bag(tmp_path / 'bags' / 'one')
    assert main(['info', str(tmp_path / 'bags')]) == Exit.OK
    printed = capsys.readouterr().out
    assert 'one: 0.99 s, 125 messages, 2 topics' in printed
    assert 'sensor_msgs/msg/JointState' in printed


def test_json_is_one_document_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bag(tmp_path / 'one')
    assert main(['info', '--json', '--id', str(tmp_path / 'one')]) == Exit.OK
    (document,) = json.loads(capsys.readouterr().out)
    assert document['messages'] == 125
    assert len(document['id']) == 64
    assert document['problems'] == []


def test_what_cost_no_message_is_a_remark_and_no_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bag(tmp_path / 'one')
    (tmp_path / 'one' / 'metadata.yaml').unlink()
    assert main(['info', '--json', str(tmp_path / 'one')]) == Exit.OK
    (document,) = json.loads(capsys.readouterr().out)
    assert document['problems'] == [] and 'has no metadata.yaml' in document['remarks'][0]
    assert main(['info', str(tmp_path / 'one')]) == Exit.OK
    printed = capsys.readouterr().out
    assert 'remark: ' in printed and 'problem: ' not in printed


def test_a_bag_that_is_unreadable_does_not_stop_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bag(tmp_path / 'good')
    bad = tmp_path / 'bad.mcap'
    bad.write_bytes(b'no bag at all')
    assert main(['info', str(bad), str(tmp_path / 'good')]) == Exit.BAD_DATA
    printed = capsys.readouterr()
    assert 'bad.mcap' in printed.err and printed.err.count('\n') == 1
    assert '125 messages' in printed.out


@pytest.mark.parametrize('verb', ['info', 'score', 'convert', 'report'])
def test_a_path_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    out = ['--out', str(tmp_path / 'out')] if verb in ('convert', 'report') else []
    assert main([verb, str(tmp_path / 'none'), *out]) == Exit.BAD_DATA
    printed = capsys.readouterr().err
    assert 'none: no such file or folder' in printed
    assert 'Traceback' not in printed


def test_a_folder_without_bags_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['info', str(tmp_path)]) == Exit.BAD_DATA
    assert 'expected a bag or a folder of bags, found none' in capsys.readouterr().err


def test_discarded_attempts_do_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_bag(tmp_path / 's1' / 'kept')
    write_bag(tmp_path / 's1' / 'discarded' / 'cancelled')
    assert main(['info', '--json', str(tmp_path)]) == Exit.OK
    assert [Path(d['path']).name for d in json.loads(capsys.readouterr().out)] == ['kept']


@pytest.mark.parametrize('arguments', [[], ['nothing'], ['info'], ['info', '--colour', 'x']])
def test_wrong_usage_has_its_own_code(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == Exit.USAGE


def test_a_fault_of_ours_is_told_from_bad_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> Exit:
        raise ZeroDivisionError('of ours')

    monkeypatch.setattr(info, 'run', broken)
    assert main(['info', str(tmp_path)]) == Exit.INTERNAL
    printed = capsys.readouterr().err
    assert 'internal error: ZeroDivisionError: of ours' in printed and 'Traceback' not in printed
    assert main(['info', '--debug', str(tmp_path)]) == Exit.INTERNAL
    assert 'Traceback' in capsys.readouterr().err


def test_what_the_system_refuses_is_no_fault_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object) -> Exit:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), 'out')

    monkeypatch.setattr(info, 'run', refused)
    assert main(['info', str(tmp_path)]) == Exit.BAD_DATA
    assert 'out: cannot be used (No space left on device)' in capsys.readouterr().err


@pytest.mark.parametrize('verb', list(VERBS))
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([verb, '--help'])
    assert ended.value.code == 0
    assert f'flywheel {verb}' in capsys.readouterr().out


def test_the_demo_counts_the_episodes_that_a_check_warns_of() -> None:
    def find(check: str, episode: str, severity: Severity = Severity.WARNING) -> Finding:
        return Finding(check, severity, episode, '', 0, 0, 0.0, 0.0, '', '')

    findings = [
        find('recorder_stall', 'a'), find('gap', 'a'), find('gap', 'a'), find('gap', 'b'),
        find('lag', 'a', Severity.NOTE),
    ]
    assert episodes_by_check(findings, Severity.WARNING) == (
        'gap in 2 episodes, recorder stall in 1 episode'
    )
    assert episodes_by_check(findings, Severity.ERROR) == 'none'

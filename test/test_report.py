# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The report is a folder of pages that carry everything and trust nothing that came from data."""

from __future__ import annotations

import errno
from html.parser import HTMLParser
import json
import math
import os
from pathlib import Path

import pytest

from curation.checks.finding import Finding, Severity
from curation.exceptions import ExportError
from curation.report.write import write_report
from curation.scores.score import score_all
from curation.scores.verdict import judge, Verdict
from support.episodes import make_episode

HOSTILE = '"><script>alert(1)</script> ../../x \N{PILE OF POO}' + 300 * 'n'


class Page(HTMLParser):
    """Tags, attributes and the embedded data of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._inside = ''
        self.feed(path.read_text(encoding='utf-8'))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = dict(attrs).get('id') or ''

    def handle_data(self, data: str) -> None:
        self.texts[self._inside] = self.texts.get(self._inside, '') + data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def test_each_episode_has_a_row_and_a_page_with_its_frames(tmp_path: Path) -> None:
    episodes = [make_episode(name=f'e{index}', seed=index) for index in range(3)]
    told: list[tuple[int, int]] = []
    index = write_report(episodes, tmp_path / 'out', progress=lambda *done: told.append(done))
    page = Page(index)
    rows = json.loads(page.texts['data'])['rows']
    assert [row['name'] for row in rows] == ['e0', 'e1', 'e2']
    assert told == [(1, 3), (2, 3), (3, 3)]
    for row in rows:
        episode = Page(index.parent / row['page'])
        images = [attrs['src'] for tag, attrs in episode.tags if tag == 'img']
        assert len(images) == 8
        assert all(str(source).startswith('data:image/jpeg;base64,') for source in images)
        curves = json.loads(episode.texts['data'])
        assert [joint['name'] for joint in curves['joints']] == list(episodes[0].rig.joint_names)
        assert curves['bands'] == [
            {'start': 1.0, 'end': 2.0, 'converged': 1.2, 'label': 'goal: wrong grasp'}
        ]


def test_findings_stand_with_their_episode(tmp_path: Path) -> None:
    episodes = [make_episode(name='good'), make_episode(name='bad', seed=1)]
    gap = Finding('gap', Severity.ERROR, 'bad', 'front', 0, 1, 2.0, 1.0, '<b>a gap</b>', 'look')
    index = write_report(episodes, tmp_path / 'out', findings=[gap])
    rows = json.loads(Page(index).texts['data'])['rows']
    assert [row['errors'] for row in rows] == [0, 1]
    good, bad = ((index.parent / row['page']).read_text() for row in rows)
    assert '&lt;b&gt;a gap&lt;/b&gt;' in bad
    assert 'a gap' not in good


def test_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    index = write_report([make_episode()], tmp_path / 'out')
    for path in index.parent.rglob('*.html'):
        for tag, attrs in Page(path).tags:
            assert tag not in ('iframe', 'object')
            assert not str(attrs.get('src') or '').startswith(('http', '//'))
            assert tag != 'link' or str(attrs['href']).startswith('data:')


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    plain = write_report([make_episode()], tmp_path / 'plain')
    hostile = write_report(
        [make_episode(name=HOSTILE, operator_id=HOSTILE, note=HOSTILE)], tmp_path / 'hostile'
    )
    assert Page(hostile).count('script') == Page(plain).count('script')
    (page,) = (tmp_path / 'hostile' / 'episodes').iterdir()
    assert Page(page).count('script') == 3
    assert json.loads(Page(hostile).texts['data'])['rows'][0]['operator'] == HOSTILE


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match='exists already; name a new folder'):
        write_report([make_episode()], tmp_path)


def test_a_report_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, 'write_text', refuse)
    with pytest.raises(ExportError, match='report: cannot be written .No space left'):
        write_report([make_episode()], tmp_path / 'report')
    assert not list(tmp_path.iterdir())


def test_scores_compare_within_the_task() -> None:
    episodes = [make_episode(seed=seed, seconds=4.0) for seed in range(4)]
    episodes.append(make_episode(seed=4, seconds=8.0))
    scores = score_all(episodes)
    assert [score.duration_ratio for score in scores] == pytest.approx([1, 1, 1, 1, 2], rel=0.01)
    assert math.isnan(scores[0].coverage_gain)
    assert scores[1].coverage_gain > 0
    judged = judge(scores[4], scores)
    assert judged.verdict is Verdict.REVIEW
    assert any('2.0 times' in reason for reason in judged.reasons)
    assert judge(scores[0], scores).verdict is Verdict.KEEP


def test_a_failure_is_dropped_and_an_unnamed_intervention_reviewed() -> None:
    failure, unnamed = (
        score_all([make_episode(grade='failure')])[0],
        score_all([make_episode(kind='', reason='')])[0],
    )
    assert judge(failure, [failure]).verdict is Verdict.DROP
    assert judge(unnamed, [unnamed]).verdict is Verdict.REVIEW

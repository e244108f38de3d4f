# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""People step through what was flagged, by keys or commands, and can take back what they said."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.catalog.database import open_catalog
from curation.catalog.ingest import write_records
from curation.catalog.reviewing import Review
from curation.catalog.terminal import curve, picture
from curation.cli.exits import Exit
from curation.cli.main import main
from curation.scores.rules import load_rules
from support.records import make_record

PLACES = [(0.2, 0.0), (0.1, 0.0), (0.2, -0.1), (0.1, -0.1)]
RECORDS = [
    make_record(0, xy=PLACES[0]),
    make_record(1, xy=PLACES[1], grade='partial'),
    make_record(2, xy=PLACES[2], finding='gap'),
    make_record(3, xy=PLACES[3], checkpoint='abc', reasons=(('', ''),)),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    with open_catalog(tmp_path).begin() as connection:
        write_records(connection, RECORDS)
    return tmp_path


def reviewing(data: Path) -> Review:
    return Review(open_catalog(data), data, load_rules(), by='me')


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert main(['review', *map(str, arguments), '--json']) is Exit.OK
    return json.loads(capsys.readouterr().out)


def test_what_rules_or_findings_flag_is_listed_with_its_reasons(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = {row['name']: row['reasons'] for row in command(capsys, data)}
    assert listed == {
        'e1': ['the task was done in part'],
        'e2': ['gap was found'],
        'e3': ['an intervention has no reason yet'],
    }


def test_commands_say_and_take_back(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = [data, '--by', 'me', '--episode', RECORDS[1].episode_id[:10]]
    assert command(capsys, *one, '--grade', 'failure')['grade'] == 'failure'
    assert command(capsys, *one, '--drop')['verdict'] == 'drop'
    assert 'e1' not in [row['name'] for row in command(capsys, data)]
    assert 'e1' in [row['name'] for row in command(capsys, data, '--all')]
    assert command(capsys, *one, '--undo')['verdict'] == ''
    found = command(capsys, *one, '--undo')
    assert found['grade'] == 'partial'
    assert [entry['what'] for entry in found['history']] == ['grade', 'verdict', 'undo', 'undo']
    assert {entry['by'] for entry in found['history']} == {'me'}
    command(capsys, *one, '--span', '0', '2.5', 'grasp', 'approach')
    assert main(['review', *map(str, one), '--span', 'x']) is Exit.BAD_DATA
    assert main(['review', *map(str, one), '--grade', 'great']) is Exit.BAD_DATA
    assert main(['review', str(data), '--episode', 'zz', '--keep']) is Exit.BAD_DATA
    assert main(['review', str(data), '--keep']) is Exit.USAGE


def test_keys_step_through_and_say(data: Path) -> None:
    pytest.importorskip('textual', reason='keys need pip install textual')
    from curation.catalog.review_app import ReviewApp

    review = reviewing(data)
    names = [review.flagged(index).name for index in range(len(review))]
    assert names == ['e1', 'e2', 'e3']

    async def press() -> None:
        app = ReviewApp(review)
        async with app.run_test() as pilot:
            await pilot.press('k')  # e1 is kept, on to e2
            await pilot.press('d', 'left', 'u')  # e2 dropped, back from e3, taken back
            await pilot.press('n', *'odd', 'enter')
            await pilot.press('right')
            await pilot.press('r', *'1 goal', 'space', *'missed', 'enter')

    asyncio.run(press())
    assert review.find(RECORDS[1].episode_id).verdict == 'keep'
    assert review.find(RECORDS[2].episode_id).verdict == ''
    history = review.history(RECORDS[2].episode_id)
    assert [(a.what.value, a.by) for a in history] == [
        ('verdict', 'me'), ('undo', 'me'), ('note', 'me')
    ]
    assert review.find(RECORDS[3].episode_id).interventions == (('i0', 'goal', 'missed'),)


def test_curves_and_images_are_drawn_as_text() -> None:
    assert curve(np.array([0.0, 1.0, np.nan, 1.0]), 4) == '▁█ █'
    assert curve(np.full(3, np.nan), 5) == '     '
    drawn = picture(np.full((4, 4, 3), (200, 10, 10), np.uint8), 2)
    assert drawn.plain == '▀▀\n'
    assert 'rgb(200,10,10)' in str(drawn.spans[0].style)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""In a browser without network the report draws, brushing narrows the table, episodes open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from curation.replay.run import replay_all
from curation.report.write import write_report
from support.browser import Browser, browser
from support.episodes import make_episode
from teleop_bridge.policy.base import ActionChunk, Observation
from teleop_bridge.rig.tasks import parse_tasks

HOSTILE = '"><script>window.broken = 1</script>\' ../../x \N{PILE OF POO}' + 300 * 'n'
SHOWN = "[...document.querySelectorAll('#episodes tbody tr')].filter(r => !r.hidden).length"


@pytest.fixture(scope='module')
def page() -> Iterator[Browser]:
    with browser() as page:
        yield page


@pytest.fixture(scope='module')
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    episodes = [
        make_episode(
            name=HOSTILE if n == 3 else f'e{n}', seed=n, seconds=4 + 0.3 * n,
            operator_id=HOSTILE if n == 3 else f'op_{n % 2}', note=HOSTILE, reason=HOSTILE,
            grade='failure' if n == 5 else 'success_first_try',
        )
        for n in range(12)
    ]
    tasks = parse_tasks('tasks: {pick_place: {text: pick}}')
    return write_report(episodes, tmp_path_factory.mktemp('report') / 'out', tasks=tasks)


@dataclass
class Still:
    """Proposes to stay where the arm is."""

    inputs: tuple[str, ...] = ()
    checkpoint: str = HOSTILE
    period_ns: int = 100_000_000

    def reset(self) -> None:
        pass

    def propose(self, observation: Observation) -> ActionChunk:
        times = observation.stamp_ns + 50_000_000 * np.arange(1, 5, dtype=np.int64)
        return ActionChunk(times, np.repeat(observation.state.positions[None], 4, axis=0))


def drawn(page: Browser, index: Path) -> None:
    page.errors.clear()
    page.open(index)
    page.until("document.querySelectorAll('#trend .points path').length > 0")


def test_it_draws_everything_without_errors_and_runs_nothing_from_data(
    page: Browser, index: Path
) -> None:
    drawn(page, index)
    page.until("document.querySelectorAll('#coverage .points path').length > 12")  # and what next
    assert page.run("document.querySelectorAll('#axes .cartesianlayer > .subplot').length") == 6
    assert page.run(SHOWN) == 12
    assert page.run('window.broken') is None
    assert page.errors == []


def test_brushing_narrows_the_table_and_a_double_click_widens_it(
    page: Browser, index: Path
) -> None:
    drawn(page, index)
    box = page.run(
        "(() => { const d = document.querySelector('#trend .nsewdrag'); d.scrollIntoView();"
        ' const r = d.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()'
    )
    left, top, width, height = box
    page.drag((left + 3, top + 3), (left + width - 3, top + height / 2))
    page.until(f'{SHOWN} < 12')
    assert page.run(SHOWN) >= 1
    assert '12' in page.run("document.getElementById('shown').textContent")
    page.run("document.getElementById('trend').emit('plotly_deselect')")
    assert page.run(SHOWN) == 12


def test_searching_and_sorting(page: Browser, index: Path) -> None:
    drawn(page, index)
    page.run(
        "(() => { const s = document.getElementById('search'); s.value = 'failure';"
        " s.dispatchEvent(new Event('input')); })()"
    )
    assert page.run(SHOWN) == 1
    page.run("document.querySelector('th[data-key=duration]').click()")
    first = "document.querySelector('#episodes tbody tr').dataset.number"
    page.run("document.querySelector('th[data-key=duration]').click()")
    assert page.run(first) == '12'  # the longest


def test_an_episode_opens_and_draws_its_curves(page: Browser, index: Path) -> None:
    drawn(page, index)
    page.errors.clear()
    loads = page.loads
    page.run("document.querySelector('tr[data-number=\"4\"] a').click()")  # the hostile one
    page.wait(lambda: page.loads > loads)
    page.until("document.querySelectorAll('#joints .scatterlayer .trace').length > 0")
    assert page.run("document.querySelectorAll('img').length") == 8
    assert page.run('window.broken') is None
    assert page.errors == []


def test_a_replayed_checkpoint_is_drawn_beside_the_episode(page: Browser, tmp_path: Path) -> None:
    episodes = [make_episode(name=f'e{seed}', seed=seed, reason=HOSTILE) for seed in range(3)]
    replays = replay_all(Still(), episodes, delay_ns=0, threshold=0.5)
    index = write_report(episodes, tmp_path / 'out', replays=replays)
    page.errors.clear()
    page.open(next((index.parent / 'episodes').glob('0001_*.html')))
    page.until("document.querySelectorAll('#replay .scatterlayer .trace').length === 3")
    labels = "[...document.querySelectorAll('#replay .annotation')]"
    texts = page.run(f'{labels}.map(a => a.textContent)')
    assert [phase.name for phase in replays.episodes[0].phases] == texts
    assert page.run('window.broken') is None
    assert page.errors == []

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Replay: where in its task a policy departs from what people did."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
import json
from pathlib import Path

import numpy as np
import pytest

from curation.align.episode import Episode
from curation.cli.exits import Exit
from curation.cli.main import main
from curation.exceptions import StreamError
from curation.replay.divergence import measure_spread, replay
from curation.replay.phases import phases
from curation.replay.takeovers import takeovers
from recorder.headless import Attempt, Driver, Start
from support.simulated import align_all, simulate
from teleop_bridge.policy.base import ActionChunk, Observation, PolicyError
from teleop_bridge.sim.skill import Script

pytestmark = pytest.mark.skipif(
    find_spec('mujoco') is None, reason='the simulated rig needs pip install mujoco'
)

FLAWED = 'teleop_bridge.sim.flawed:FlawedPolicy'


@dataclass
class Recited:
    """Proposes what was executed, beside it by an offset where told so."""

    episode: Episode
    offset: dict[str, float] = field(default_factory=dict)  # rad, by phase name
    inputs: tuple[str, ...] = ()
    checkpoint: str = 'recited'
    period_ns: int = 200_000_000

    def reset(self) -> None:
        pass

    def propose(self, observation: Observation) -> ActionChunk:
        grid, action = self.episode.grid_ns, self.episode.action
        assert action is not None
        index = int(np.searchsorted(grid, observation.stamp_ns))
        rows = np.minimum(index + np.arange(1, 9), len(grid) - 1)
        times = observation.stamp_ns + 50_000_000 * np.arange(1, 9, dtype=np.int64)
        phase = next(p for p in phases(self.episode) if p.start <= index < p.stop)
        return ActionChunk(times, action[rows] + self.offset.get(phase.name, 0.0))


@pytest.fixture(scope='module')
def bags(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = Start((0.2, -0.05), 0.1)
    attempts = [
        Attempt(1, start=place),
        Attempt(2, start=place),
        Attempt(3, start=place, script=Script.FUMBLE),
        Attempt(4, driver=Driver.CORRECTED),
    ]
    return simulate(tmp_path_factory.mktemp('bags'), attempts)


@pytest.fixture(scope='module')
def episodes(bags: list[Path]) -> list[Episode]:
    return align_all(bags)


def test_phases_follow_the_gripper(episodes: list[Episode]) -> None:
    clean, fumbled = phases(episodes[0]), phases(episodes[2])
    assert [p.kind for p in clean] == ['reach', 'descend', 'carry', 'retreat']
    assert [p.name for p in fumbled if p.kind == 'carry'] == ['first carry', 'second carry']
    for split, episode in ((clean, episodes[0]), (fumbled, episodes[2])):
        assert split[0].start == 0 and split[-1].stop == len(episode)
        assert all(a.stop == b.start for a, b in zip(split, split[1:], strict=False))
    height = episodes[0].signals['cube'].values[:, 2]
    carry = clean[2]
    assert height[carry.start : carry.stop].max() > 0.08
    assert height[: carry.start].max() < 0.03


def test_who_recites_does_not_diverge(episodes: list[Episode]) -> None:
    spread = measure_spread(episodes[:3])
    one = replay(Recited(episodes[0]), episodes[0], spread)
    assert np.nanmax(one.worst) < 1e-9
    assert one.first_beyond(0.1, 1) is None


def test_a_divergence_is_located_and_in_units_of_peoples_spread(
    episodes: list[Episode],
) -> None:
    episode, spread = episodes[2], measure_spread(episodes[:3])
    one = replay(Recited(episode, {'second reach': 0.6}), episode, spread)
    where = one.first_beyond(2.0, 3)
    assert where is not None and where.name == 'second reach'
    middle = (where.start + where.stop) // 2
    assert one.divergence[middle] == pytest.approx(0.6 / spread.of('reach'))


def test_the_loops_delay_skips_what_has_passed(episodes: list[Episode]) -> None:
    episode, spread = episodes[0], measure_spread(episodes[:3])

    @dataclass
    class Late(Recited):
        def propose(self, observation: Observation) -> ActionChunk:
            chunk = super().propose(observation)
            chunk.positions[0] += 1.0  # only the first action, 50 ms ahead, is wrong
            return chunk

    prompt = replay(Late(episode), episode, spread, delay_ns=0)
    late = replay(Late(episode), episode, spread, delay_ns=50_000_000)
    assert np.nanmin(prompt.worst[:20]) > 1
    assert np.nanmax(late.worst[:20]) < 1e-9


def test_the_predecessor_itself_does_the_same_before_a_takeover(
    episodes: list[Episode],
) -> None:
    spread = measure_spread(episodes)
    episode = episodes[3]

    @dataclass
    class Predecessor(Recited):
        def propose(self, observation: Observation) -> ActionChunk:
            chunk = super().propose(observation)
            rows = np.searchsorted(self.episode.grid_ns, chunk.times_ns, side='right') - 1
            assert self.episode.policy is not None
            return ActionChunk(chunk.times_ns, self.episode.policy[rows] + shift)

    shift = 0.0
    (same,) = takeovers(Predecessor(episode), episode, spread)
    shift = 0.5
    (other,) = takeovers(Predecessor(episode), episode, spread)
    assert same.same is True and other.same is False
    assert same.intervention.reason == 'grasp missed'


def test_a_policy_that_proposes_nan_is_refused(episodes: list[Episode]) -> None:
    spread = measure_spread(episodes[:3])
    with pytest.raises(PolicyError, match='not finite'):
        replay(Recited(episodes[0], {'first reach': np.nan}), episodes[0], spread)


def test_a_missing_input_is_named(episodes: list[Episode]) -> None:
    spread = measure_spread(episodes[:3])
    with pytest.raises(StreamError, match="no signal 'lidar' to look at"):
        replay(Recited(episodes[0], inputs=('lidar',)), episodes[0], spread)


def test_the_verb_replays(bags: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ['replay', *map(str, bags), '--policy', FLAWED, '--checkpoint', 'offset=0.045']
    assert main([*arguments, '--json']) is Exit.OK
    told = json.loads(capsys.readouterr().out)
    assert len(told['episodes']) == 4 and len(told['takeovers']) == 1
    assert told['episodes'][0]['phases'][0]['name'] == 'first reach'
    assert main(arguments) is Exit.OK
    assert 'of 4 episodes' in capsys.readouterr().out


def test_the_report_tells_and_draws_what_replay_found(
    bags: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flawed = ['--policy', FLAWED, '--checkpoint', 'offset=0.045', '--rate', '20']
    out = tmp_path / 'report'
    report = ['report', *map(str, bags), '--out', str(out), '--no-checks', *flawed]
    assert main(report) is Exit.OK
    capsys.readouterr()
    replays = ['replay', *map(str, bags), *flawed]
    assert main(replays) is Exit.OK
    sentences = [line for line in capsys.readouterr().out.splitlines() if ' of ' in line]
    index = (out / 'index.html').read_text()
    assert sentences and all(f'<li>{sentence}</li>' in index for sentence in sentences)
    corrected = (out / 'episodes').glob('0004_*.html')
    page = next(corrected).read_text()
    assert '<h2>Replay' in page and 'takeover in the' in page
    data = json.loads(page.split('id="data">')[1].split('</script>')[0])
    assert data['replay']['phases'][0]['name'] == 'first reach'
    for joint in data['replay']['joints']:
        assert len(joint['values']) == len(data['times'])

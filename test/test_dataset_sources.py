# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""LeRobot and robomimic datasets are read as recordings, whole or with what is lost named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from curation.cli.main import main
from curation.exceptions import BagError
from curation.export.lerobot import export_lerobot
from curation.export.robomimic import export_robomimic
from curation.sources.lerobot import LeRobotSource
from curation.sources.open import recordings
from curation.sources.robomimic import RobomimicSource
from support.filmed import make_episode, picture
from support.streams import CORPUS

EPISODES = [make_episode('e0', seed=0), make_episode('e1', seed=1, length=33)]


def test_lerobot_v3_gives_the_episodes_that_were_exported(tmp_path: Path) -> None:
    export_lerobot(EPISODES, tmp_path / 'dataset')
    found = list(LeRobotSource(tmp_path / 'dataset').recordings())
    assert len(found) == 2
    for episode, recording in zip(EPISODES, found, strict=True):
        assert not recording.problems
        for name, values in (('state', episode.state), ('action', episode.action)):
            series = recording.series[name]
            assert series.joints is not None and series.joints.names == ('pan', 'grip')
            np.testing.assert_allclose(series.joints.positions, values, atol=1e-6)
        assert (np.diff(recording.series['state'].stamps_ns) == 50_000_000).all()
        frame = recording.frames['front'](7)
        assert np.abs(frame.astype(int) - picture(7)).mean() < 4  # it was video in between
    assert found[0].id != found[1].id


def test_robomimic_gives_the_episodes_that_were_exported(tmp_path: Path) -> None:
    file = export_robomimic(EPISODES, tmp_path / 'out')
    found = list(RobomimicSource(file).recordings())
    assert [len(r.series['state']) for r in found] == [40, 33]
    for episode, recording in zip(EPISODES, found, strict=True):
        assert not recording.problems
        joints = recording.series['state'].joints
        assert joints is not None
        np.testing.assert_allclose(joints.positions, episode.state, atol=1e-6)
    camera = next(iter(found[0].frames))
    np.testing.assert_array_equal(found[0].frames[camera](7), picture(7))


def test_dataset_without_an_episode_s_file_loses_that_episode_by_name(tmp_path: Path) -> None:
    if not CORPUS.is_dir():
        pytest.skip('the public corpus ../shared/corpus is not there')
    source = CORPUS / 'g1-policy-train'
    (tmp_path / 'meta').mkdir()
    for name in ('info.json', 'tasks.jsonl'):
        (tmp_path / 'meta' / name).write_bytes((source / 'meta' / name).read_bytes())
    lines = (source / 'meta' / 'episodes.jsonl').read_text().splitlines()[:2]
    (tmp_path / 'meta' / 'episodes.jsonl').write_text('\n'.join(lines))
    data = Path('data/chunk-000/episode_000001.parquet')
    (tmp_path / data).parent.mkdir(parents=True)
    (tmp_path / data).write_bytes((source / data).read_bytes())
    lost, kept = recordings([tmp_path])
    assert 'episode_000000.parquet' in lost.problems[0].text and not lost.series
    assert len(kept.series['state']) > 100 and not kept.problems


def test_broken_metadata_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / 'meta').mkdir()
    (tmp_path / 'meta' / 'info.json').write_text(json.dumps({'fps': 30}))
    assert main(['check', str(tmp_path)]) != 0
    error = capsys.readouterr().err
    assert 'expected a LeRobot dataset' in error and 'Traceback' not in error
    (tmp_path / 'set.hdf5').write_bytes(b'nothing')
    with pytest.raises(BagError, match='expected a robomimic dataset'):
        RobomimicSource(tmp_path / 'set.hdf5')

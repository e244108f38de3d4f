# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The LeRobot v3 export: every value, stamp and frame, and what is refused."""

from __future__ import annotations

from dataclasses import replace
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from curation.align.episode import Facts
from curation.exceptions import ExportError
from curation.export import verify
from curation.export.depth import decode_depth, encode_depth, to_metres
from curation.export.lerobot import export_lerobot, LeRobotOptions
from curation.export.segments import Encoded, read_segment, Segment
from curation.export.statistics import ImageStatistics, ValueStatistics
from curation.export.video import read_frames
from support.filmed import depth_ramp, make_episode, picture

EPISODES = [make_episode('e0', seed=0), make_episode('e1', seed=1, length=33)]


@pytest.fixture(scope='module')
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp('export') / 'dataset'
    extra = {EPISODES[1].id: {'smoothness': 0.5}}
    summary = export_lerobot(EPISODES, out, LeRobotOptions(extra=extra))
    assert (summary.episodes, summary.frames) == (2, 73)
    assert summary.cameras == ('front', 'front_depth')
    return out


def info(dataset: Path) -> dict:
    return json.loads((dataset / 'meta/info.json').read_text())


def test_counts_and_features_are_declared(dataset: Path) -> None:
    content = info(dataset)
    assert content['codebase_version'] == 'v3.0'
    assert content['fps'] == 20
    totals = [content[f'total_{what}'] for what in ('episodes', 'frames', 'tasks')]
    assert totals == [2, 73, 1]
    features = content['features']
    assert features['action'] == {'dtype': 'float32', 'shape': [2], 'names': ['pan', 'grip']}
    assert features['stamp_ns.wrench']['dtype'] == 'int64'
    assert features['observation.images.front']['shape'] == [48, 64, 3]
    assert features['observation.images.front_depth']['info']['is_depth_map']
    table = pq.read_table(dataset / 'data')
    stored = {name for name, f in features.items() if f['dtype'] != 'video'}
    assert set(table.column_names) == stored


def test_every_value_is_the_episode_s(dataset: Path) -> None:
    file = pq.ParquetFile(dataset / 'data/chunk-000/file-000.parquet')
    assert file.num_row_groups == 2
    for number, episode in enumerate(EPISODES):
        table = file.read_row_group(number)
        assert table['observation.state'].to_pylist() == episode.state.astype(np.float32).tolist()
        assert table['action'].to_pylist() == episode.action.astype(np.float32).tolist()
        assert table['timestamp_ns'].to_pylist() == episode.grid_ns.tolist()
        assert table['stamp_ns.front'].to_pylist() == episode.tracks['front'].stamps_ns.tolist()
        assert table['staleness_ns.front'].to_pylist() == [5_000_000] * len(episode)
        assert table['intervention'].to_pylist() == [bool(i) for i in episode.intervention_id]
        assert table['intervention_reason'].to_pylist()[12] == 'wrong grasp'
        assert table['authority'].to_pylist() == episode.authority.tolist()
        assert table['frame_index'].to_pylist() == list(range(len(episode)))
        expected = (np.arange(len(episode)) / 20).astype(np.float32)
        assert np.array_equal(table['timestamp'].to_numpy(), expected)
    whole = file.read()
    assert whole['index'].to_pylist() == list(range(73))


def test_episodes_say_where_they_are_and_what_they_were(dataset: Path) -> None:
    rows = pq.read_table(dataset / 'meta/episodes').to_pylist()
    key = 'videos/observation.images.front'
    assert [row['length'] for row in rows] == [40, 33]
    assert rows[1]['dataset_from_index'] == 40 and rows[1]['dataset_to_index'] == 73
    assert rows[0][f'{key}/to_timestamp'] == rows[1][f'{key}/from_timestamp'] == 2.0
    assert rows[1][f'{key}/to_timestamp'] == 73 / 20
    assert rows[0]['tasks'] == ['Pick it'] and rows[0]['content_id'] == EPISODES[0].id
    assert rows[0]['smoothness'] is None and rows[1]['smoothness'] == 0.5


def test_the_task_is_the_pandas_index(dataset: Path) -> None:
    schema = pq.read_schema(dataset / 'meta/tasks.parquet')
    assert schema.pandas_metadata['index_columns'] == ['task']


def test_frames_read_back_and_shared_ones_are_the_same(dataset: Path) -> None:
    video = dataset / 'videos/observation.images.front/chunk-000/file-000.mp4'
    for number, image in read_frames(video, [0, 39, 40, 72], fps=20):
        i = number if number < 40 else number - 40
        assert np.abs(image.astype(int) - picture(i)).mean() < 6
    depth = dataset / 'videos/observation.images.front_depth/chunk-000/file-000.mp4'
    for number, codes in read_frames(depth, [0, 7, 71], fps=20):
        i = number if number < 40 else number - 40
        error = decode_depth(codes) - depth_ramp(i // 2) / 1000
        assert np.abs(error).max() <= 0.0015


def test_statistics_are_exact(dataset: Path) -> None:
    stats = json.loads((dataset / 'meta/stats.json').read_text())
    state = np.concatenate([e.state for e in EPISODES]).astype(np.float32)
    assert stats['observation.state']['q99'] == pytest.approx(np.quantile(state, 0.99, axis=0))
    assert stats['observation.state']['count'] == [73]
    pixels = np.stack([picture(i) for e in EPISODES for i in range(len(e))]) / 255
    front = stats['observation.images.front']
    assert np.array(front['mean'])[:, 0, 0] == pytest.approx(pixels.mean((0, 1, 2)))
    assert np.array(front['std'])[:, 0, 0] == pytest.approx(pixels.std((0, 1, 2)))
    assert np.array(front['max']).shape == (3, 1, 1)


def test_quantiles_of_images_come_from_every_pixel() -> None:
    statistics = ImageStatistics(channels=1, levels=256, scale=255.0)
    statistics.add(np.arange(100, dtype=np.uint8).reshape(10, 10))
    assert statistics.result()['q50'][0][0][0] == pytest.approx(49 / 255)


def test_what_was_not_there_does_not_count() -> None:
    statistics = ValueStatistics()
    statistics.add(np.array([[1.0, np.nan], [3.0, np.nan]]))
    result = statistics.result()
    assert result['mean'] == [2.0, 0.0]


def test_depth_codes_keep_a_millimetre_where_it_matters() -> None:
    metres = np.linspace(0.5, 3.5, 5000)
    half_a_step = (3.5 + 3.5) * np.log(13.5 / 3.51) / 4095 / 2  # at the far end: 1.15 mm
    assert np.abs(decode_depth(encode_depth(metres)) - metres).max() <= half_a_step
    assert to_metres(np.array([1500], np.uint16)) == pytest.approx([1.5])
    assert to_metres(np.array([np.nan, 2.0], np.float32)) == pytest.approx([0.0, 2.0])


def test_an_existing_folder_is_refused_and_untouched(tmp_path: Path) -> None:
    out = tmp_path / 'there'
    out.mkdir()
    (out / 'mine.txt').write_text('keep')
    with pytest.raises(ExportError, match='there: exists already'):
        export_lerobot(EPISODES, out)
    assert (out / 'mine.txt').read_text() == 'keep'


@pytest.mark.parametrize(
    ('other', 'message'),
    [
        (make_episode('slow', fps=10), 'slow: 10.000 Hz, but e0 has 20 Hz'),
        (replace(make_episode('blind'), frames={}), r'blind: cameras \(\), but e0'),
        (replace(make_episode('numb'), signals={}), "numb: feature 'observation.wrench' is abs"),
    ],
)
def test_episodes_that_do_not_fit_are_named_and_nothing_is_left(
    tmp_path: Path, other: object, message: str
) -> None:
    with pytest.raises(ExportError, match=message):
        export_lerobot([EPISODES[0], other], tmp_path / 'out')
    assert list(tmp_path.iterdir()) == []


def test_a_rate_that_is_no_whole_number_is_refused(tmp_path: Path) -> None:
    episode = replace(EPISODES[0], period_ns=1e9 * 1001 / 30000)
    with pytest.raises(ExportError, match='found 29.9700: align at another rate'):
        export_lerobot([episode], tmp_path / 'out')


def test_no_episode_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match='no episode to export'):
        export_lerobot([], tmp_path / 'out')


def test_a_dataset_that_differs_from_its_source_is_never_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shifted(segment: Segment) -> Encoded:
        encoded = read_segment(segment)
        return replace(encoded, witnesses={i: picture(i + 9) for i in encoded.witnesses})

    monkeypatch.setattr(verify, 'read_segment', shifted)
    with pytest.raises(ExportError, match='e0: observation.images.front frame 0 does not read'):
        export_lerobot(EPISODES, tmp_path / 'dataset')
    assert list(tmp_path.iterdir()) == []


def test_episodes_with_and_without_a_policy_fit_together(tmp_path: Path) -> None:
    driven = make_episode('driven', seed=2)
    tracks = {name: track for name, track in driven.tracks.items() if name != 'policy'}
    alone = replace(driven, tracks=tracks, policy=None, id='f' * 64, name='alone')
    export_lerobot([driven, alone], tmp_path / 'out')
    table = pq.read_table(tmp_path / 'out/data')
    assert set(table['stamp_ns.policy'].to_pylist()[40:]) == {-1}
    assert np.isnan(np.array(table['policy_proposal'].to_pylist()[40:])).all()
    assert table['stamp_ns.policy'].to_pylist()[:40] == driven.tracks['policy'].stamps_ns.tolist()


def test_a_task_without_text_is_still_one(tmp_path: Path) -> None:
    export_lerobot([replace(EPISODES[0], facts=Facts())], tmp_path / 'out')
    assert info(tmp_path / 'out')['total_tasks'] == 1

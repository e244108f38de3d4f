# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The robomimic, Zarr and frames exports hold what the episodes hold, and refuse the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import json
import os
from pathlib import Path

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest
import zarr

from curation.exceptions import ExportError
from curation.export.action import ActionSource
from curation.export.arrays import ArrayOptions
from curation.export.frames import decode_image, export_frames, FrameEncoding, FrameOptions
from curation.export.images import Shape, shaped_frames
from curation.export.robomimic import export_robomimic
from curation.export.zarr_buffer import export_zarr
from support.filmed import make_episode, picture

EPISODES = [make_episode('e0', seed=0), make_episode('e1', seed=1, length=33)]
QUARTER = Shape(width=16, height=12)


@pytest.mark.parametrize('export', [export_robomimic, export_zarr, export_frames])
def test_what_does_not_fit_is_named_and_leaves_nothing(
    export: Callable[..., Path], tmp_path: Path
) -> None:
    masked = replace(EPISODES[1], valid=np.arange(33) > 2)
    blind = replace(EPISODES[1], frames={})
    slow = make_episode('slow', fps=10)
    out = tmp_path / 'out'
    for other, message in (
        (masked, 'e1: 3 of 33 samples are masked'),
        (blind, r"e1: cameras \(\), but e0 has \('front',\)"),
        (slow, 'slow: rate 10.000 Hz, but e0 has 20.000 Hz'),
        (replace(EPISODES[1], action=None), 'e1: the executed command was not there'),
    ):
        with pytest.raises(ExportError, match=message):
            export([EPISODES[0], other], out)
        assert not out.exists()
    with pytest.raises(ExportError, match='no episode to export'):
        export([], out)
    out.mkdir()
    with pytest.raises(ExportError, match='exists already'):
        export(EPISODES, out)


def test_robomimic_has_every_value_and_pixel(tmp_path: Path) -> None:
    with h5py.File(export_robomimic(EPISODES, tmp_path / 'out'), 'r') as file:
        assert file['data'].attrs['total'] == 73
        assert json.loads(file['data'].attrs['env_args'])['env_kwargs'] == {'control_freq': 20}
        assert [name.decode() for name in file['mask/train']] == ['demo_0', 'demo_1']
        for number, episode in enumerate(EPISODES):
            demo = file[f'data/demo_{number}']
            assert demo.attrs['num_samples'] == len(episode)
            assert demo.attrs['content_id'] == episode.id
            assert np.array_equal(demo['actions'], episode.action)
            assert np.array_equal(demo['obs/joint_positions'], episode.state)
            assert np.array_equal(demo['timestamp_ns'], episode.grid_ns)
            assert demo['rewards'][:].tolist() == [0.0] * (len(episode) - 1) + [1.0]
            assert demo['dones'][:].nonzero()[0].tolist() == [len(episode) - 1]
            images = np.stack([picture(i) for i in range(len(episode))])
            assert np.array_equal(demo['obs/front_image'], images)
            assert np.array_equal(demo['next_obs/front_image'][:-1], images[1:])
            assert np.array_equal(demo['next_obs/joint_positions'][-1], episode.state[-1])
            assert demo['next_obs/front_image'].is_virtual


@pytest.mark.skipif(
    'ROBOMIMIC' not in os.environ, reason='robomimic is not installed: make check-robomimic')
def test_robomimic_s_own_dataset_class_reads_what_the_episodes_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(os.environ['ROBOMIMIC'])
    from robomimic.utils.dataset import SequenceDataset
    import robomimic.utils.obs_utils as obs_utils

    path = export_robomimic(EPISODES, tmp_path / 'out')
    obs_utils.initialize_obs_utils_with_obs_specs(
        {'obs': {'low_dim': ['joint_positions'], 'rgb': ['front_image']}})
    dataset = SequenceDataset(
        str(path), ('joint_positions', 'front_image'), ('actions', 'rewards', 'dones'),
        frame_stack=2, seq_length=5, filter_by_attribute='train')
    assert len(dataset) == 73 and dataset.n_demos == 2
    for index, (episode, i) in ((0, (EPISODES[0], 0)), (50, (EPISODES[1], 10))):
        item = dataset[index]
        assert np.array_equal(item['actions'][1:], episode.action[i:i + 5])
        assert np.array_equal(item['obs']['joint_positions'][1:], episode.state[i:i + 5])
        assert np.array_equal(item['obs']['front_image'][1:], [picture(i + k) for k in range(5)])


def test_a_failure_is_not_rewarded(tmp_path: Path) -> None:
    facts = replace(EPISODES[0].facts, episode={'grade': 'failure'})
    path = export_robomimic([replace(EPISODES[0], facts=facts)], tmp_path / 'out')
    with h5py.File(path, 'r') as file:
        assert not file['data/demo_0/rewards'][:].any()


def test_zarr_is_a_replay_buffer_of_format_2(tmp_path: Path) -> None:
    out = export_zarr(EPISODES, tmp_path / 'out')
    assert json.loads((out / 'data/state/.zarray').read_text())['zarr_format'] == 2
    root = zarr.open_group(str(out), mode='r')
    assert root['meta/episode_ends'][:].tolist() == [40, 73]
    assert [facts['bag'] for facts in root['meta'].attrs['episodes']] == ['e0', 'e1']
    assert np.array_equal(root['data/state'][40:], EPISODES[1].state)
    assert np.array_equal(root['data/action'][:40], EPISODES[0].action)
    assert np.array_equal(root['data/front'][40 + 7], picture(7))
    assert root['data/intervention'][:40].nonzero()[0].tolist() == list(range(10, 20))


def test_the_human_s_proposal_can_be_the_action(tmp_path: Path) -> None:
    episode = replace(EPISODES[0], human=EPISODES[0].state * 2)
    options = ArrayOptions(action=ActionSource.HUMAN)
    root = zarr.open_group(str(export_zarr([episode], tmp_path / 'out', options)), mode='r')
    assert np.array_equal(root['data/action'][:], episode.state * 2)
    with pytest.raises(ExportError, match='e0: the human command was not there at every sample'):
        export_zarr(EPISODES, tmp_path / 'other', options)


def test_frames_are_found_by_their_rows(tmp_path: Path) -> None:
    out = export_frames(
        EPISODES, tmp_path / 'out',
        FrameOptions(encoding=FrameEncoding.PNG, extra={EPISODES[1].id: {'score': 0.5}}))
    info = json.loads((out / 'info.json').read_text())
    assert info['cameras'] == {'front': {'height': 48, 'width': 64}}
    rows = pq.read_table(out / 'episodes.parquet').to_pylist()
    assert [row['length'] for row in rows] == [40, 33]
    assert [row['score'] for row in rows] == [None, 0.5]
    table = pq.read_table(out / 'episodes/000001.parquet')
    assert table['timestamp_ns'].to_pylist() == EPISODES[1].grid_ns.tolist()
    pack = (out / 'frames/front/000001.bin').read_bytes()
    for i, (offset, size) in enumerate(
        zip(table['frame.front.offset'].to_pylist(), table['frame.front.size'].to_pylist(),
            strict=True)
    ):
        assert np.array_equal(decode_image(pack[offset:offset + size]), picture(i))


def test_jpeg_frames_stay_close_and_shared_ones_are_stored_once(tmp_path: Path) -> None:
    episode = EPISODES[0]
    tracks = {**episode.tracks, 'front': replace(
        episode.tracks['front'], indices=np.arange(40) // 2)}
    out = export_frames([replace(episode, tracks=tracks)], tmp_path / 'out')
    table = pq.read_table(out / 'episodes/000000.parquet')
    offsets = table['frame.front.offset'].to_pylist()
    assert offsets[0::2] == offsets[1::2]
    pack = (out / 'frames/front/000000.bin').read_bytes()
    image = decode_image(pack[offsets[4]:])
    assert np.abs(image.astype(int) - picture(2)).max() < 8


def test_a_stopped_export_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    opened: list[str] = []

    def counted(name: str, fails: bool) -> Callable[[int], np.ndarray]:
        def frame(i: int) -> np.ndarray:
            opened.append(name)
            if fails:
                raise KeyboardInterrupt
            return picture(i)
        return frame

    stopped = [replace(e, frames={'front': counted(e.name, e.name == 'e1')}) for e in EPISODES]
    with pytest.raises(KeyboardInterrupt):
        export_frames(stopped, out, FrameOptions(workers=1))
    assert not out.exists()
    opened.clear()
    whole = [replace(e, frames={'front': counted(e.name, False)}) for e in EPISODES]
    export_frames(whole, out, FrameOptions(workers=1))
    assert opened.count('e0') == 1  # for the size in info.json
    fresh = export_frames(EPISODES, tmp_path / 'fresh')
    files = sorted(path.relative_to(fresh) for path in fresh.rglob('*') if path.is_file())
    assert [path.relative_to(out) for path in sorted(out.rglob('*')) if path.is_file()] == files
    assert all((out / name).read_bytes() == (fresh / name).read_bytes() for name in files)


def test_another_export_does_not_go_on_with_a_stopped_one(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    left = tmp_path / '.out.partial'
    left.mkdir()
    (left / 'resume_key').write_text('of something else')
    (left / 'old').touch()
    export_frames(EPISODES, out)
    assert not (out / 'old').exists()
    assert not (out / 'resume_key').exists()


def test_images_are_resized_by_area_and_never_distorted() -> None:
    image = picture(3)
    small = QUARTER.apply(image, 'front')
    blocks = image.reshape(12, 4, 16, 4, 3).mean((1, 3))
    assert np.abs(small - blocks).max() <= 0.51
    with pytest.raises(ExportError, match='front: 16×16 would distort an image of 64×48'):
        Shape(width=16, height=16).apply(image, 'front')
    square = Shape(width=16, height=16, crop=(8, 0, 48, 48)).apply(image, 'front')
    assert np.abs(square - image[:, 8:56].reshape(16, 3, 16, 3, 3).mean((1, 3))).max() <= 0.51
    with pytest.raises(ExportError, match=r'a crop of 48×48 at \(20, 0\) leaves the image'):
        Shape(crop=(20, 0, 48, 48)).apply(image, 'front')


def test_a_message_used_twice_is_decoded_once() -> None:
    episode = EPISODES[0]
    decoded: list[int] = []
    tracks = {'front': replace(episode.tracks['front'], indices=np.arange(40) // 4)}

    def frame(i: int) -> np.ndarray:
        decoded.append(i)
        return picture(i)

    shared = replace(episode, tracks=tracks, frames={'front': frame})
    assert len(list(shaped_frames(shared, 'front', QUARTER))) == 40
    assert decoded == list(range(10))

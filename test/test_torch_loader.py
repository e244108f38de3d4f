# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Windows for training: the same from bags and from each export, padded, weighted, repeatable."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
import multiprocessing
from pathlib import Path
import pickle

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from curation.align.load import load_episode
from curation.exceptions import ExportError
from curation.export.frames import export_frames, FrameEncoding, FrameOptions
from curation.export.images import Shape
from curation.export.lerobot import export_lerobot
from curation.export.robomimic import export_robomimic
from curation.export.zarr_buffer import export_zarr
from curation.torch.arrays import RobomimicSource, ZarrSource
from curation.torch.bags import BagSource
from curation.torch.cache import ProcessCache
from curation.torch.frames import FramesSource
from curation.torch.lerobot import LeRobotSource
from curation.torch.source import ACTION, EpisodeSource, STATE
from curation.torch.windows import WindowOptions
from recorder.headless import Attempt, HeadlessRig
from recorder.headless_cameras import headless_variant, HeadlessCameras
from recorder.headless_session import HeadlessSession
from support.filmed import make_episode, picture
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.tasks import load_tasks

EPISODES = [make_episode('e0', seed=0), make_episode('e1', seed=1, length=33)]
WINDOW = WindowOptions(observations=3, actions=8, stride=2)
needs_torch = pytest.mark.skipif(
    find_spec('torch') is None, reason='PyTorch is not installed: pip install torch')
needs_mujoco = pytest.mark.skipif(
    find_spec('mujoco') is None, reason='the simulated rig needs pip install mujoco')


@pytest.fixture(scope='module')
def exports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, EpisodeSource]:
    folder = tmp_path_factory.mktemp('exports')
    frames = export_frames(
        EPISODES, folder / 'frames', FrameOptions(encoding=FrameEncoding.PNG))
    export_lerobot(EPISODES, folder / 'lerobot')
    export_robomimic(EPISODES, folder / 'robomimic')
    return {
        'frames': FramesSource(frames),
        'lerobot': LeRobotSource(folder / 'lerobot'),
        'robomimic': RobomimicSource(folder / 'robomimic'),
        'zarr': ZarrSource(export_zarr(EPISODES, folder / 'zarr')),
    }


@given(
    length=st.integers(1, 60), observations=st.integers(1, 5), actions=st.integers(1, 20),
    stride=st.integers(1, 4), data=st.data())
def test_windows_stay_in_their_episode_and_mark_what_they_repeat(
    length: int, observations: int, actions: int, stride: int, data: st.DataObject
) -> None:
    i = data.draw(st.integers(0, length - 1))
    options = WindowOptions(observations, actions, stride)
    past, past_pad = options.past(i)
    future, future_pad = options.future(i, length)
    assert past[-1] == future[0] == i
    assert not past_pad[-1]
    assert not future_pad[0]
    for indices, pad, edge in ((past, past_pad, 0), (future, future_pad, length - 1)):
        assert ((indices >= 0) & (indices < length)).all()
        assert (indices[pad] == edge).all()
    assert set(np.diff(past[~past_pad])) <= {stride}
    assert set(np.diff(future[~future_pad])) <= {1}


@pytest.mark.parametrize('name', ['frames', 'lerobot', 'robomimic', 'zarr'])
def test_a_source_has_the_episodes_values_and_frames(
    name: str, exports: dict[str, EpisodeSource]
) -> None:
    source = exports[name]
    tolerance = 6 if name == 'lerobot' else 0  # of a lossy codec
    assert source.lengths.tolist() == [40, 33]
    assert source.cameras == ('front',)
    for number, episode in enumerate(EPISODES):
        numbers = source.numbers(number)
        assert np.array_equal(
            numbers[STATE].astype(np.float32), episode.state.astype(np.float32))
        assert np.array_equal(
            numbers[ACTION].astype(np.float32), episode.action.astype(np.float32))
        assert numbers['sample_weight'].max() == 2.5
        for i in (0, 20, 3, 4, len(episode) - 1):  # back and forth
            image = source.frame(number, 'front', i).astype(int)
            assert np.abs(image - picture(i)).mean() <= tolerance


@needs_mujoco
def test_bags_are_read_without_an_export(tmp_path: Path) -> None:
    rig = headless_variant(load_rig(data_file('config/rigs/so101_sim.yaml')), width=64, height=48)
    tasks = load_tasks(data_file('config/tasks/pick_place.yaml'))
    task = tasks.task('pick_place')
    headless = HeadlessRig(rig, task, cameras=HeadlessCameras(rig))
    session = HeadlessSession(
        headless, rig, tasks, task, output=tmp_path, session_id='s', operator_id='op')
    closed = session.record(Attempt(1, limit_ns=2 * NANOSECONDS))[1]
    source = BagSource([Path(closed.path)], shape=Shape(width=32, height=24))
    episode = load_episode(closed.path)
    assert source.lengths.tolist() == [len(episode)]
    assert np.array_equal(source.numbers(0)[STATE], episode.state.astype(np.float32))
    copy = pickle.loads(pickle.dumps(source))
    for camera in episode.cameras:
        image = Shape(width=32, height=24).apply(episode.frame(camera, 5), camera)
        assert np.array_equal(source.frame(0, camera, 5), image)
        assert np.array_equal(copy.frame(0, camera, 5), image)


@pytest.mark.parametrize(
    ('source', 'message'),
    [
        (FramesSource, 'expected a frames export'),
        (LeRobotSource, 'expected a LeRobot dataset'),
        (RobomimicSource, 'expected a robomimic export'),
        (ZarrSource, 'expected a Zarr export'),
    ],
)
def test_a_folder_that_is_no_export_is_named(
    source: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ExportError, match=f'{tmp_path}: {message}'):
        source(tmp_path)


def test_what_was_used_last_is_kept_and_the_rest_closed() -> None:
    closed: list[str] = []
    cache: ProcessCache[int, str] = ProcessCache(2, closed.append)
    for key in (1, 2, 1, 3):
        assert cache.get(key, lambda key=key: f'value {key}') == f'value {key}'
    assert closed == ['value 2']
    copy = pickle.loads(pickle.dumps(ProcessCache[int, str](2)))
    assert copy.get(1, lambda: 'new') == 'new'


@needs_torch
def test_an_item_is_a_window_with_its_padding(exports: dict[str, EpisodeSource]) -> None:
    from curation.torch.dataset import WindowDataset

    dataset = WindowDataset(exports['frames'], WINDOW)
    assert len(dataset) == 73
    item = dataset[40]  # the second episode's first sample
    assert (int(item['episode_index']), int(item['sample_index'])) == (1, 0)
    assert item['observation_is_pad'].tolist() == [True, True, False]
    assert item['action'].shape == (8, 2)
    assert not item['action_is_pad'].any()
    last = dataset[72]
    assert last['action_is_pad'].tolist() == [False] + [True] * 7
    images = dataset[20]['observation.images.front'].numpy()
    assert images.shape == (3, 3, 48, 64)
    expected = np.stack([picture(i) for i in (16, 18, 20)]).transpose(0, 3, 1, 2)
    assert np.array_equal(images, expected)
    with pytest.raises(IndexError):
        dataset[73]


@needs_torch
@pytest.mark.parametrize('method', ['fork', 'spawn'])
@pytest.mark.parametrize('name', ['frames', 'lerobot', 'robomimic', 'zarr'])
def test_workers_give_what_one_process_gives(
    name: str, method: str, exports: dict[str, EpisodeSource]
) -> None:
    import torch
    from torch.utils.data import DataLoader

    from curation.torch.dataset import WindowDataset, WindowSampler

    dataset = WindowDataset(exports[name], WINDOW)
    dataset[0]  # opens files in this process, which workers must not share
    sampler = WindowSampler(dataset.weights(), seed=4)
    alone = list(DataLoader(dataset, batch_size=16, sampler=sampler))
    workers = DataLoader(
        dataset, batch_size=16, sampler=sampler, num_workers=2,
        multiprocessing_context=multiprocessing.get_context(method))
    for expected, found in zip(alone, workers, strict=True):
        assert expected.keys() == found.keys()
        assert all(torch.equal(expected[key], found[key]) for key in expected)


@needs_torch
def test_the_sampler_is_repeatable_and_follows_the_weights(
    exports: dict[str, EpisodeSource]
) -> None:
    from curation.torch.dataset import WindowDataset, WindowSampler

    def drawn(weight: float, *, seed: int = 1, epoch: int = 0) -> list[int]:
        options = WindowOptions(intervention_weight=weight)
        sampler = WindowSampler(WindowDataset(exports['frames'], options).weights(), seed=seed)
        sampler.set_epoch(epoch)
        return list(sampler)

    assert drawn(1.0) == drawn(1.0)
    assert drawn(1.0) != drawn(1.0, epoch=1)
    assert drawn(1.0) != drawn(1.0, seed=2)
    assert sorted(drawn(1.0)) == list(range(73))
    stated = WindowDataset(exports['frames'], WindowOptions()).weights()
    assert set(stated) == {0.0, 1.0, 2.5}  # what the export says
    corrections = {*range(10, 20), *range(50, 60)}
    assert not corrections & set(drawn(0.0))
    often = np.mean([index in corrections for epoch in range(30)
                     for index in drawn(10.0, epoch=epoch)])
    assert often == pytest.approx(200 / 253, abs=0.05)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""LeRobot exports go on where they stopped, are appended to, repeat, and do what is declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
import json
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
import pyarrow.parquet as pq
import pytest

from curation.align.episode import Episode
from curation.align.frames import FrameSource
from curation.bag.video import VideoStream
from curation.exceptions import ExportError
from curation.export.action import ActionSource
from curation.export.images import Shape
from curation.export.lerobot import export_lerobot, LeRobotOptions
from curation.export.video import CODECS, read_frames
from curation.manifests.weights import WeightOptions
from curation.torch.lerobot import LeRobotSource
from curation.work import SerialExecutor
from support.filmed import make_episode, picture

EPISODES = [make_episode(f'e{i}', seed=i, length=20 + i) for i in range(3)]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob('*')) if path.is_file()
    }


def filmed_by(episode: Episode, frame: Callable[[int], NDArray[np.uint8]]) -> Episode:
    return replace(episode, frames={**episode.frames, 'front': frame})


def test_two_exports_of_the_same_are_equal_in_every_byte(tmp_path: Path) -> None:
    export_lerobot(EPISODES, tmp_path / 'one')
    export_lerobot(EPISODES, tmp_path / 'other', executor=SerialExecutor())
    assert contents(tmp_path / 'one') == contents(tmp_path / 'other')


def test_a_stopped_export_goes_on_with_what_is_missing(tmp_path: Path) -> None:
    decoded: list[str] = []

    def counting(name: str, *, stops: bool = False) -> Callable[[int], NDArray[np.uint8]]:
        def frame(i: int) -> NDArray[np.uint8]:
            decoded.append(name)
            if stops and i == 5:
                raise KeyboardInterrupt
            return picture(i)
        return frame

    out = tmp_path / 'out'
    stopped = [filmed_by(e, counting(e.name, stops=e.name == 'e1')) for e in EPISODES]
    with pytest.raises(KeyboardInterrupt):
        export_lerobot(stopped, out, executor=SerialExecutor())
    assert not out.exists()
    decoded.clear()
    export_lerobot([filmed_by(e, counting(e.name)) for e in EPISODES], out)
    assert 'e0' not in decoded
    assert decoded.count('e1') == len(EPISODES[1])  # each once, verification included
    export_lerobot(EPISODES, tmp_path / 'fresh')
    assert contents(out) == contents(tmp_path / 'fresh')
    assert sorted(path.name for path in tmp_path.iterdir()) == ['fresh', 'out']


def test_new_episodes_are_appended_and_old_files_stay(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    export_lerobot(EPISODES[:2], out)
    before = {path: path.stat().st_ino for path in out.rglob('*') if path.is_file()}
    never = [filmed_by(e, lambda i: 1 / 0) for e in EPISODES[:2]]  # type: ignore
    summary = export_lerobot([*never, EPISODES[2]], out, append=True)
    assert (summary.episodes, summary.appended) == (3, 1)
    for path, inode in before.items():
        if path.parts[len(out.parts)] in ('data', 'videos'):
            assert path.stat().st_ino == inode
    export_lerobot(EPISODES, tmp_path / 'whole')
    for name in ('info.json', 'stats.json'):
        assert json.loads((out / 'meta' / name).read_text()) == json.loads(
            (tmp_path / 'whole/meta' / name).read_text())
    one, other = (pq.read_table(folder / 'data') for folder in (out, tmp_path / 'whole'))
    for name in one.column_names:
        assert np.array_equal(
            np.array(one[name].to_pylist()), np.array(other[name].to_pylist()),
            equal_nan=one[name].type != 'string'), name
    for i in (0, 13):
        image = LeRobotSource(out).frame(2, 'front', i)
        assert np.array_equal(image, LeRobotSource(tmp_path / 'whole').frame(2, 'front', i))
    again = export_lerobot(EPISODES, out, append=True)
    assert (again.episodes, again.appended) == (3, 0)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (LeRobotOptions(codec=CODECS['hevc']), 'expected the export options of its episodes'),
        (LeRobotOptions(extra={EPISODES[2].id: {'new': 1}}), "found also 'new'"),
    ],
)
def test_what_would_not_fit_is_not_appended(
    options: LeRobotOptions, message: str, tmp_path: Path
) -> None:
    out = tmp_path / 'out'
    export_lerobot(EPISODES[:2], out)
    before = contents(out)
    with pytest.raises(ExportError, match=message):
        export_lerobot(EPISODES, out, options, append=True)
    assert contents(out) == before
    with pytest.raises(ExportError, match='none: expected a LeRobot dataset that flywheel'):
        export_lerobot(EPISODES, tmp_path / 'none', append=True)


def test_an_append_that_was_killed_while_it_replaced_is_put_back(tmp_path: Path) -> None:
    out = tmp_path / 'out'
    export_lerobot(EPISODES[:2], out)
    out.rename(tmp_path / '.out.previous')
    assert export_lerobot(EPISODES, out, append=True).episodes == 3


def test_images_are_cropped_and_resized_as_declared(tmp_path: Path) -> None:
    shape = Shape(width=24, height=24, crop=(8, 0, 48, 48))
    export_lerobot(EPISODES[:1], tmp_path / 'out', LeRobotOptions(shape=shape))
    info = json.loads((tmp_path / 'out/meta/info.json').read_text())
    assert info['features']['observation.images.front']['shape'] == [24, 24, 3]
    assert info['features']['observation.images.front_depth']['shape'] == [24, 24, 1]
    image = LeRobotSource(tmp_path / 'out').frame(0, 'front', 4)
    assert np.abs(image.astype(int) - shape.apply(picture(4), '')).mean() < 6
    declared = json.loads((tmp_path / 'out/meta/flywheel/export.json').read_text())
    assert (declared['size'], declared['crop']) == ([24, 24], [8, 0, 48, 48])
    with pytest.raises(ExportError, match='would distort'):
        export_lerobot(EPISODES, tmp_path / 'no', LeRobotOptions(shape=Shape(24, 24)))


def test_a_person_s_proposal_can_be_the_action(tmp_path: Path) -> None:
    episode = replace(EPISODES[0], human=EPISODES[0].state * 2)
    export_lerobot([episode], tmp_path / 'out', LeRobotOptions(action=ActionSource.HUMAN))
    table = pq.read_table(tmp_path / 'out/data')
    assert np.array_equal(table['action'].to_pylist(), (episode.state * 2).astype(np.float32))
    executed = np.asarray(episode.action, np.float32)
    assert np.array_equal(table['executed_command'].to_pylist(), executed)
    with pytest.raises(ExportError, match='the human command was not there at every sample'):
        export_lerobot(EPISODES, tmp_path / 'no', LeRobotOptions(action=ActionSource.HUMAN))


def test_masked_samples_say_so_and_weigh_nothing(tmp_path: Path) -> None:
    episode = EPISODES[0]
    gone = np.isin(np.arange(len(episode)), (0, 6, 7))
    track = episode.tracks['front']
    masked = replace(
        episode, valid=~gone,
        tracks={**episode.tracks, 'front': replace(
            track, indices=np.where(gone, -1, track.indices), valid=~gone)})
    options = LeRobotOptions(weighting=WeightOptions(autonomous=1.0))
    export_lerobot([masked], tmp_path / 'out', options)
    table = pq.read_table(tmp_path / 'out/data')
    assert table['valid'].to_pylist() == (~gone).tolist()
    weights = np.array(table['sample_weight'].to_pylist())
    assert not weights[gone].any()
    assert weights[1] == 1.0
    assert set(weights[10:11]) == {2.5}  # a correction's
    video = tmp_path / 'out/videos/observation.images.front/chunk-000/file-000.mp4'
    shown = dict(read_frames(video, [0, 7], fps=20))
    for i, held in ((0, 1), (7, 5)):  # the nearest that there was
        assert np.abs(shown[i].astype(int) - picture(held)).mean() < 6


class Streamed(FrameSource):
    """A camera that sends H.264, of which no message must be encoded again."""

    def __init__(self) -> None:
        encoder = av.CodecContext.create('libx264', 'w')
        encoder.width, encoder.height, encoder.pix_fmt = 64, 48, 'yuv420p'
        encoder.time_base = Fraction(1, 20)
        encoder.options = {
            'g': '5', 'bf': '0', 'crf': '10', 'sc_threshold': '0', 'tune': 'zerolatency'}
        packets = []
        for i in range(30):
            frame = av.VideoFrame.from_ndarray(picture(i), format='rgb24')
            frame.pts = i
            packets += encoder.encode(frame)
        self.data = [bytes(packet) for packet in [*packets, *encoder.encode(None)]]
        self.video = VideoStream(lambda i: (self.data[i], 'h264'), 'test')

    def packet(self, index: int) -> tuple[bytes, str]:
        return self.data[index], 'h264'

    def __call__(self, index: int) -> NDArray[np.uint8]:
        return self.video.frame(index)


def test_video_that_fits_is_copied_and_else_encoded(tmp_path: Path) -> None:
    camera = Streamed()
    episode = replace(EPISODES[0], frames={'front': camera})
    track = episode.tracks['front']
    options = LeRobotOptions(passthrough=True)
    for name, indices, copied in (
        ('fits', np.arange(20) + 5, True),
        ('no key frame first', np.arange(20) + 6, False),
        ('another rate', np.arange(20) // 2, False),
    ):
        shown = replace(
            episode, tracks={**episode.tracks, 'front': replace(track, indices=indices)})
        export_lerobot([shown], tmp_path / name, options, executor=SerialExecutor())
        path = tmp_path / name / 'videos/observation.images.front/chunk-000/file-000.mp4'
        found = dict(read_frames(path, list(range(20)), fps=20))
        same = [np.array_equal(found[i], camera(int(indices[i]))) for i in range(20)]
        assert all(same) if copied else not all(same)
        assert len(found) == 20


def test_an_encoder_that_is_not_there_is_named(tmp_path: Path) -> None:
    codec = replace(CODECS['h264'], encoder='libx263')
    with pytest.raises(ExportError, match='libx263: this encoder cannot be used'):
        export_lerobot(EPISODES, tmp_path / 'out', LeRobotOptions(codec=codec))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize('codec', ['hevc', 'av1'])
def test_every_codec_is_joined_and_read_back(codec: str, tmp_path: Path) -> None:
    try:
        av.Codec(CODECS[codec].encoder, 'w')
    except av.codec.codec.UnknownCodecError:
        pytest.skip(f'this FFmpeg has no {CODECS[codec].encoder}')
    out = tmp_path / 'out'
    export_lerobot(EPISODES, out, LeRobotOptions(codec=CODECS[codec]))
    source = LeRobotSource(out)
    for number, i in ((0, 0), (1, 20), (2, 21)):
        image = source.frame(number, 'front', i).astype(int)
        assert np.abs(image - picture(i)).mean() < 6


def test_codecs_can_be_tuned() -> None:
    codec = CODECS['hevc'].tuned(gop=10, quality=30, preset='medium')
    options = codec.encoder_options()
    assert (options['g'], options['crf'], options['preset']) == ('10', '30', 'medium')
    assert CODECS['hevc'].options['crf'] == '22'

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The export benchmark's cases, each in a process of its own.

``export_cases.py CASE WORK CODEC`` prints one JSON document. Those whose name begins
with lerobot need the real one (scripts/lerobot).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
import json
from pathlib import Path
import resource
import shutil
import sys
import time
from typing import Any

import av
import numpy as np

HERE = Path(__file__).resolve().parent
# the file curation.py beside this one must not hide the package of its name
sys.path[:] = [str(HERE.parent)] + [p for p in sys.path if Path(p or '.').resolve() != HERE]
from curation.align.episode import Episode  # noqa: E402
from curation.align.load import load_episode  # noqa: E402
from curation.align.options import AlignOptions  # noqa: E402
from curation.export.frames import export_frames  # noqa: E402
from curation.export.images import Shape, shaped_frames  # noqa: E402
from curation.export.lerobot import export_lerobot, LeRobotOptions  # noqa: E402
from curation.export.video import CODECS, mp4, read_frames, TICKS_PER_FRAME  # noqa: E402
from curation.manifests.file import Entry, load, Manifest, save  # noqa: E402

FPS = 30
WINDOW = 16          # actions
_CHECKED = 30        # frames of an episode whose PSNR is measured


def cpu_s() -> float:
    """Return CPU seconds of this process and of those that it waited for."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


class Clock:
    """Adds up CPU and wall seconds of the blocks that it is entered for."""

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0

    def __enter__(self) -> None:
        self._began = cpu_s(), time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.cpu += cpu_s() - self._began[0]
        self.wall += time.perf_counter() - self._began[1]

    def result(self, **more: Any) -> dict[str, Any]:
        """Return what was measured."""
        return {'cpu_s': self.cpu, 'wall_s': self.wall, **more}


def episodes_of(work: Path) -> list[Episode]:
    """Align the bags."""
    options = AlignOptions(rate=Fraction(FPS))
    return [load_episode(bag, options=options) for bag in sorted((work / 'bags').iterdir())]


def ours(work: Path, codec: str) -> dict[str, Any]:
    """Align, encode, write and verify, from the bags."""
    out = work / f'ours_{codec}'
    for left in (out, out.with_name(f'.{out.name}.partial')):  # of a run that was stopped
        shutil.rmtree(left, ignore_errors=True)
    clock = Clock()
    with clock:
        summary = export_lerobot(episodes_of(work), out, LeRobotOptions(codec=CODECS[codec]))
    return clock.result(frames=summary.frames, **_quality(work, out))


def reading(work: Path, _codec: str) -> dict[str, Any]:
    """Align and decode every image, nothing else."""
    clock = Clock()
    with clock:
        for episode in episodes_of(work):
            for camera in episode.cameras:
                for _ in shaped_frames(episode, camera, Shape()):
                    pass
    return clock.result()


def floor(work: Path, codec: str) -> dict[str, Any]:
    """Encode the frames, which are in memory, with PyAV and nothing else."""
    clock = Clock()
    chosen = CODECS[codec]
    for number, episode in enumerate(episodes_of(work)):
        for camera in episode.cameras:
            images = [image for _, image in shaped_frames(episode, camera, Shape())]
            path = work / f'floor_{codec}/{number}_{camera}.mp4'
            with clock:
                container = mp4(path, fps=FPS)
                stream: Any = container.add_stream(
                    chosen.encoder, rate=FPS, options=chosen.encoder_options())
                stream.height, stream.width = images[0].shape[:2]
                stream.pix_fmt = chosen.pix_fmt
                stream.time_base = stream.codec_context.time_base = Fraction(
                    1, TICKS_PER_FRAME * FPS)
                stream.codec_context.thread_count = 1
                for i, image in enumerate(images):
                    frame = av.VideoFrame.from_ndarray(image, 'rgb24')
                    frame.pts = i * TICKS_PER_FRAME
                    container.mux(stream.encode(frame))
                container.mux(stream.encode(None))
                container.close()
    return clock.result()


def lerobot(work: Path, codec: str) -> dict[str, Any]:
    """Let lerobot's own writer stream-encode the same frames, fed from memory."""
    from lerobot.configs.video import RGBEncoderConfig
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    out = work / f'lerobot_{codec}'
    shutil.rmtree(out, ignore_errors=True)
    chosen = CODECS[codec]
    settings = chosen.options
    encoder = RGBEncoderConfig(
        vcodec=codec if codec != 'av1' else 'libsvtav1', g=chosen.gop, crf=int(settings['crf']),
        preset=settings['preset'])
    clock, frames = Clock(), 0
    dataset: Any = None
    for episode in episodes_of(work):
        images = {c: [i for _, i in shaped_frames(episode, c, Shape())] for c in episode.cameras}
        if dataset is None:
            features: dict[str, Any] = {
                name: {'dtype': 'float32', 'shape': (6,), 'names': list(episode.rig.joint_names)}
                for name in ('observation.state', 'action')
            }
            for camera in images:
                features[f'observation.images.{camera}'] = {
                    'dtype': 'video', 'shape': (480, 640, 3),
                    'names': ['height', 'width', 'channels']}
            dataset = LeRobotDataset.create(
                'local/bench', FPS, features, root=out, rgb_encoder=encoder,
                streaming_encoding=True, encoder_queue_maxsize=len(episode) + 1)
        state = episode.state.astype(np.float32)
        action = np.asarray(episode.action, np.float32)
        with clock:
            for i in range(len(episode)):
                dataset.add_frame({
                    'observation.state': state[i], 'action': action[i], 'task': 'bench',
                    **{f'observation.images.{c}': images[c][i] for c in images}})
            dataset.save_episode()
        frames += len(episode)
    with clock:
        dataset.finalize()
    return clock.result(frames=frames, **_quality(work, out))


def frames_export(work: Path, _codec: str) -> dict[str, Any]:
    """Write the frames export."""
    shutil.rmtree(work / 'frames', ignore_errors=True)
    clock = Clock()
    with clock:
        export_frames(episodes_of(work), work / 'frames')
    return clock.result(bytes=_bytes(work / 'frames'))


def windows(work: Path, codec: str) -> dict[str, Any]:
    """Draw random windows of two images and 16 actions from bags and exports."""
    from curation.torch.bags import BagSource
    from curation.torch.dataset import WindowDataset
    from curation.torch.frames import FramesSource
    from curation.torch.lerobot import LeRobotSource
    from curation.torch.windows import WindowOptions

    bags = sorted((work / 'bags').iterdir())
    sources = {
        'frames': FramesSource(work / 'frames'),
        'lerobot': LeRobotSource(work / f'ours_{codec}'),
        'bags': BagSource(bags, options=AlignOptions(rate=Fraction(FPS))),
    }
    return {
        name: _per_second(WindowDataset(source, WindowOptions(actions=WINDOW)))
        for name, source in sources.items()
    }


def lerobot_windows(work: Path, codec: str) -> dict[str, Any]:
    """Draw the same windows through LeRobotDataset, with both of its decoders."""
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    result = {}
    for backend in ('pyav', 'torchcodec'):
        dataset = LeRobotDataset(
            'local/bench', root=work / f'ours_{codec}', video_backend=backend,
            delta_timestamps={'action': [i / FPS for i in range(WINDOW)]})
        try:
            result[backend] = _per_second(dataset)
        except Exception as error:  # torchcodec needs FFmpeg's shared libraries
            result[backend] = f'{type(error).__name__}: {error}'.splitlines()[0][:80]
    return result


def videos(work: Path, codec: str) -> dict[str, Any]:
    """Read frames of an export one after another and at random."""
    from curation.torch.lerobot import LeRobotSource

    source = LeRobotSource(work / f'ours_{codec}')
    camera = source.cameras[0]
    rng = np.random.default_rng(1)
    sequential, at_random = Clock(), Clock()
    count = min(300, int(source.lengths[0]))
    with sequential:
        for i in range(count):
            source.frame(0, camera, i)
    with at_random:
        for i in rng.integers(0, source.lengths[0], count):
            source.frame(0, camera, int(i))
    return {'sequential': count / sequential.cpu, 'random': count / at_random.cpu}


def manifest(work: Path, _codec: str) -> dict[str, Any]:
    """Open a manifest of 100,000 episodes."""
    path = work / 'hundred_thousand.json'
    if not path.exists():
        save(Manifest('large', {}, tuple(_entry(i) for i in range(100_000))), path)
    clock = Clock()
    with clock:
        found = len(load(path).episodes)
    return clock.result(episodes=found, bytes=path.stat().st_size)


def _entry(i: int) -> Entry:
    key = f'{i:064x}'
    session = f'd{i // 100:04d}_op{i % 7}'
    return Entry(
        id=key, split='train', weight=1.0, name=f'{session}_e{i % 100:04d}', task='pick_place',
        grade='success_first_try', operator=f'op{i % 7}', session=session, rig='bench',
        checkpoint='', source='demonstration', cluster=key)


def _per_second(dataset: Any, seconds: float = 8.0) -> float:
    """Return items per CPU second, in random order, after the first ten."""
    order = np.random.default_rng(0).permutation(len(dataset))
    for index in order[:10]:
        dataset[int(index)]
    began, cpu, count = time.perf_counter(), cpu_s(), 0
    for index in order[10:]:
        dataset[int(index)]
        count += 1
        if time.perf_counter() - began > seconds:
            break
    return count / (cpu_s() - cpu)


def _quality(work: Path, out: Path) -> dict[str, Any]:
    """Return the videos' bytes and the PSNR of some frames of the first episode."""
    episode = episodes_of(work)[0]
    errors = []
    for camera in episode.cameras:
        key = f'observation.images.{camera}'
        path = sorted((out / 'videos' / key).rglob('*.mp4'))[0]
        wanted = np.linspace(0, len(episode) - 1, _CHECKED).astype(int).tolist()
        for number, image in read_frames(path, wanted, fps=FPS):
            source = episode.frame(camera, number)
            errors.append(np.mean((source.astype(float) - image) ** 2))
    return {'bytes': _bytes(out / 'videos'), 'psnr': 10 * np.log10(255**2 / np.mean(errors))}


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob('*') if path.is_file())


CASES: dict[str, Callable[[Path, str], dict[str, Any]]] = {
    'ours': ours, 'reading': reading, 'floor': floor, 'lerobot': lerobot, 'frames': frames_export,
    'windows': windows, 'lerobot_windows': lerobot_windows, 'videos': videos,
    'manifest': manifest,
}

if __name__ == '__main__':
    json.dump(CASES[sys.argv[1]](Path(sys.argv[2]), sys.argv[3]), sys.stdout)

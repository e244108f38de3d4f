# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Cameras: profiles that exist, rates that are kept, frames counted, files played."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from teleop_bridge.cameras.calibration import load_calibration
from teleop_bridge.cameras.profile import FrameCounter, Profile, RateCheck, require_profile
from teleop_bridge.cameras.v4l2 import V4l2Camera
from teleop_bridge.cameras.video_file import VideoFile
from teleop_bridge.exceptions import DeviceError, RigError

WANTED = Profile(640, 480, 30, 'MJPG')
EXISTING = [Profile(640, 480, 15, 'YUYV'), Profile(1280, 720, 30, 'MJPG')]
MS = 1_000_000


def test_a_profile_that_does_not_exist_is_refused_with_those_that_do() -> None:
    require_profile(WANTED, [*EXISTING, WANTED], '/dev/v4l/by-id/cam')
    with pytest.raises(DeviceError, match='640x480 at 30 Hz MJPG does not exist .*YUYV; 1280'):
        require_profile(WANTED, EXISTING, '/dev/v4l/by-id/cam')


def test_a_camera_that_halves_its_rate_is_refused() -> None:
    check = RateCheck(WANTED, [WANTED], 'cam')
    stamps = [i * 1_000_000_000 // 15 for i in range(60)]
    for stamp in stamps[:-1]:
        check.add(stamp)
    with pytest.raises(DeviceError, match='asked for 640x480 at 30 Hz MJPG, it delivers 15.0 Hz'):
        check.add(stamps[-1])


def test_a_slow_start_and_jitter_are_no_reason() -> None:
    check = RateCheck(WANTED, [WANTED], 'cam')
    rng = np.random.default_rng(0)
    now = 0
    for i in range(200):
        now += (100 if i < 10 else 33) * MS + int(rng.normal(0, 3 * MS))
        check.add(now)


def test_dropped_and_repeated_frames_are_counted() -> None:
    counter = FrameCounter()
    new = [counter.add(s, t) for s, t in ((7, 10), (8, 20), (8, 20), (11, 50), (12, 60))]
    assert new == [True, True, False, True, True]
    assert (counter.received, counter.dropped, counter.repeated) == (4, 2, 1)


def test_a_video_file_is_played_at_its_rate(tmp_path: Path) -> None:
    av = pytest.importorskip('av', reason='PyAV (pip install av) is not installed')
    path = tmp_path / 'clip.mp4'
    with av.open(str(path), 'w') as container:
        stream = container.add_stream('libx264', rate=50)
        stream.width = stream.height = 32
        for i in range(5):
            pixels = np.full((32, 32, 3), 40 * i, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, 'rgb24')))
        container.mux(stream.encode(None))
    camera = VideoFile(path)
    camera.open()
    frames = [camera.read() for _ in range(8)]
    camera.close()
    assert all(frame is not None for frame in frames)
    steps = np.diff([frame.monotonic_ns for frame in frames[:5]])
    assert steps.tolist() == [20 * MS] * 4
    assert [frame.sequence for frame in frames] == list(range(1, 9))
    assert frames[5].pixels.mean() == pytest.approx(frames[0].pixels.mean(), abs=3)


def test_what_is_no_video_is_named(tmp_path: Path) -> None:
    pytest.importorskip('av', reason='PyAV (pip install av) is not installed')
    with pytest.raises(DeviceError, match='none.mp4: expected a video file'):
        VideoFile(tmp_path / 'none.mp4').open()


def test_an_absent_camera_is_named() -> None:
    pytest.importorskip('linuxpy', reason='linuxpy (pip install linuxpy) is not installed')
    with pytest.raises(DeviceError, match='/dev/v4l/by-id/none: cannot be opened'):
        V4l2Camera(device='/dev/v4l/by-id/none', profile=WANTED).open()


CALIBRATION = """
image_width: 640
image_height: 480
camera_name: front
distortion_model: plumb_bob
camera_matrix: {rows: 3, cols: 3, data: [600, 0, 320, 0, 600, 240, 0, 0, 1]}
distortion_coefficients: {rows: 1, cols: 5, data: [0.1, -0.2, 0, 0, 0]}
rectification_matrix: {rows: 3, cols: 3, data: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
projection_matrix: {rows: 3, cols: 4, data: [600, 0, 320, 0, 0, 600, 240, 0, 0, 0, 1, 0]}
"""


def test_a_calibration_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / 'front.yaml'
    path.write_text(CALIBRATION)
    calibration = load_calibration(path)
    assert (calibration.width, calibration.model) == (640, 'plumb_bob')
    assert calibration.k[4] == 600 and len(calibration.p) == 12


def test_a_matrix_of_another_size_is_named(tmp_path: Path) -> None:
    path = tmp_path / 'front.yaml'
    path.write_text(CALIBRATION.replace('600, 240, 0, 0, 1]}', '600, 240]}'))
    with pytest.raises(RigError, match='camera_matrix.data: expected 9 numbers, found 6'):
        load_calibration(path)


class Kernel:
    """What a driver answers, in linuxpy's own structures: frames by time, profiles, a plug."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        video = pytest.importorskip(
            'linuxpy.video.device', reason='linuxpy (pip install linuxpy) is not installed'
        )
        from linuxpy.video import raw

        self._video, self._raw = video, raw
        self.io = self.select = self.info = self
        self.frames: list[tuple[int, int, bytes]] = []
        self.flags = 0x2000
        self.opened: list[tuple[object, ...]] = []
        self.frame_types = [
            video.FrameType(1, video.PixelFormat[name], w, h, hz, hz, 0)
            for name, w, h, hz in (('MJPEG', 640, 480, 30), ('YUYV', 640, 480, 15))
        ]
        self.ready = True
        monkeypatch.setattr(video, 'Device', lambda path, blocking: self)
        monkeypatch.setattr(video, 'VideoCapture', lambda device, size: self)

    def open(self) -> None:
        self.opened.append(())

    def close(self) -> None:
        self.opened.clear()

    def set_format(self, *profile: object) -> None:
        self.opened.append(profile)

    def set_fps(self, rate: float) -> None:
        self.opened.append((rate,))

    def __call__(self, *_: object) -> tuple[list[Kernel], list[object], list[object]]:
        return ([self] if self.ready else []), [], []

    def __iter__(self) -> Iterator[object]:
        for sequence, stamp_us, data in self.frames:
            buffer = self._raw.v4l2_buffer()
            buffer.sequence, buffer.flags, buffer.bytesused = sequence, self.flags, len(data)
            buffer.timestamp.secs, buffer.timestamp.usecs = divmod(stamp_us, 1_000_000)
            yield self._video.Frame(data, buffer, None)
        raise OSError(19, 'No such device')


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel(monkeypatch)
    monkeypatch.setattr(Kernel, 'select', kernel.__call__, raising=False)
    return kernel


def test_a_v4l2_frame_passes_as_it_is_stamped_by_the_kernel_and_lost_ones_show(
    kernel: Kernel,
) -> None:
    camera = V4l2Camera(device='/dev/v4l/by-id/cam', profile=WANTED)
    camera.open()
    kernel.frames = [(4, 5_000_033, b'\xff\xd8one'), (7, 5_100_001, b'\xff\xd8two')]
    counter = FrameCounter()
    first, second = camera.read(), camera.read()
    assert first is not None and second is not None
    assert (first.monotonic_ns, first.jpeg) == (5_000_033_000, b'\xff\xd8one')
    assert [counter.add(f.sequence, f.monotonic_ns) for f in (first, second)] == [True, True]
    assert counter.dropped == 2
    with pytest.raises(DeviceError, match='/dev/v4l/by-id/cam: .*No such device'):
        camera.read()
    camera.close()


def test_a_v4l2_profile_that_the_driver_lacks_is_refused_and_the_device_closed(
    kernel: Kernel,
) -> None:
    camera = V4l2Camera(device='cam', profile=Profile(1280, 720, 30, 'MJPG'))
    with pytest.raises(DeviceError, match='1280x720 at 30 Hz MJPG does not exist .*640x480 at'):
        camera.open()
    assert kernel.opened == []


def test_stamps_of_another_clock_are_refused_and_silence_is_no_frame(kernel: Kernel) -> None:
    camera = V4l2Camera(device='cam', profile=WANTED)
    camera.open()
    kernel.ready = False
    assert camera.read() is None
    kernel.ready, kernel.flags = True, 0
    kernel.frames = [(0, 1, b'')]
    with pytest.raises(DeviceError, match='does not stamp on the monotonic clock'):
        camera.read()

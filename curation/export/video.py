# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Videos at a constant frame rate, with exact integer times, through PyAV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from curation.exceptions import ExportError

TICKS_PER_FRAME = 512  # time base 1 / (512 fps): 1/15360 at 30 fps, as LeRobot's own files


@dataclass(frozen=True)
class VideoCodec:
    """An encoder and its settings. ``gop`` is the number of frames from key frame to key frame."""

    name: str          # codec as LeRobot's info names it
    encoder: str       # FFmpeg's encoder
    pix_fmt: str = 'yuv420p'
    source_format: str = 'rgb24'
    gop: int = 2
    quality: str = 'crf'  # name of the option that sets it: less is better
    options: dict[str, str] = field(default_factory=dict)

    def tuned(
        self, *, gop: int | None = None, quality: int | None = None, preset: str | None = None
    ) -> VideoCodec:
        """Return it with other settings; None keeps its own."""
        options = dict(self.options)
        if quality is not None:
            options[self.quality] = str(quality)
        if preset is not None:
            options['preset'] = preset
        return replace(self, gop=gop or self.gop, options=options)

    def encoder_options(self) -> dict[str, str]:
        """Return FFmpeg's options, among them what keeps groups of pictures closed."""
        options = {**self.options, 'g': str(self.gop)}
        if self.encoder == 'libx264' and self.gop <= 2:
            options['bf'] = '0'  # there is no room for B-frames: looking for them costs a tenth
        elif self.encoder == 'libx265':
            params = options.pop('x265-params', 'log-level=none')
            # A reader that seeks must not need frames before its key frame.
            options['x265-params'] = (
                f'{params}:keyint={self.gop}:open-gop=0:pools=none:frame-threads=1'
            )
        elif self.encoder == 'libsvtav1':
            options['svtav1-params'] = 'lp=1'
        return options


CODECS = {
    'h264': VideoCodec('h264', 'libx264', options={'crf': '20', 'preset': 'veryfast'}),
    'hevc': VideoCodec('hevc', 'libx265', options={'crf': '22', 'preset': 'fast'}),
    'av1': VideoCodec('av1', 'libsvtav1', options={'crf': '30', 'preset': '12'}),
    **{
        f'{name}_nvenc': VideoCodec(
            name, f'{name}_nvenc', quality='cq', options={'rc': 'vbr', 'cq': '24', 'preset': 'p4'}
        )
        for name in ('h264', 'hevc', 'av1')
    },
}
DEPTH_CODEC = VideoCodec(
    'hevc',
    'libx265',
    pix_fmt='gray12le',
    source_format='gray12le',
    options={'x265-params': 'lossless=1:log-level=none', 'preset': 'fast'},
)


def time_base(fps: int) -> Fraction:
    """Return the unit of a frame's time, s."""
    return Fraction(1, TICKS_PER_FRAME * fps)


def mp4(path: Path, *, fps: int) -> Any:
    """Open a new mp4 file, and its folder, for frames at a constant rate."""
    path.parent.mkdir(parents=True, exist_ok=True)
    timescale = {'video_track_timescale': str(TICKS_PER_FRAME * fps)}
    return av.open(str(path), 'w', options=timescale)


class VideoWriter:
    """Writes frames into one mp4 file, one after another."""

    def __init__(
        self, path: Path, *, fps: int, width: int, height: int, codec: VideoCodec
    ) -> None:
        self.path = path
        self.frames = 0
        self._codec = codec
        self._time_base = time_base(fps)
        self._container = mp4(path, fps=fps)
        options = codec.encoder_options()
        try:
            stream: Any = self._container.add_stream(codec.encoder, rate=fps, options=options)
            stream.width, stream.height, stream.pix_fmt = width, height, codec.pix_fmt
            stream.time_base = stream.codec_context.time_base = self._time_base
            # One segment, one core: exports keep every core busy with segments of their own, and
            # what comes out does not depend on how many there are.
            stream.codec_context.thread_count = 1
            stream.codec_context.open()
        except (av.FFmpegError, ValueError) as error:
            self._container.close()
            raise ExportError(f'{codec.encoder}: this encoder cannot be used ({error})') from error
        self._stream = stream

    def write(self, image: NDArray[Any], *, times: int = 1) -> None:
        """Append one image: (height, width, 3) uint8 RGB, or (height, width) uint16 codes."""
        image, form = np.ascontiguousarray(image), self._codec.source_format
        # an RGB image is converted where it lies: a copy of it costs as much as its conversion
        wrap = av.VideoFrame.from_numpy_buffer if form == 'rgb24' else av.VideoFrame.from_ndarray
        frame = wrap(image, form)
        if times > 1:  # converted once
            frame = frame.reformat(format=self._codec.pix_fmt)
        for _ in range(times):
            frame.pts = self.frames * TICKS_PER_FRAME
            frame.time_base = self._time_base
            self._container.mux(self._stream.encode(frame))
            self.frames += 1

    def close(self) -> None:
        """Finish the file."""
        self._container.mux(self._stream.encode(None))
        self._container.close()

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_frames(path: Path, wanted: list[int], *, fps: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the frames of ascending numbers with their images, as stored."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        depth = stream.codec_context.pix_fmt == DEPTH_CODEC.pix_fmt
        assert stream.time_base is not None
        for number in wanted:
            container.seek(round(number / fps / stream.time_base), stream=stream)
            for frame in container.decode(stream):
                assert frame.pts is not None
                if round(frame.pts * stream.time_base * fps) >= number:
                    yield number, frame.to_ndarray(format='gray12le' if depth else 'rgb24')
                    break

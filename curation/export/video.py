# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Videos at a constant frame rate, with exact integer times, through PyAV."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

TICKS_PER_FRAME = 512  # time base 1 / (512 fps): 1/15360 at 30 fps, as LeRobot's own files


@dataclass(frozen=True)
class VideoCodec:
    """An encoder and its settings. ``gop`` is the number of frames from key frame to key frame."""

    name: str          # codec as LeRobot's info names it
    encoder: str       # FFmpeg's encoder
    pix_fmt: str = 'yuv420p'
    source_format: str = 'rgb24'
    gop: int = 2
    options: dict[str, str] = field(default_factory=dict)


CODECS = {
    'h264': VideoCodec('h264', 'libx264', options={'crf': '20', 'preset': 'veryfast'}),
    'hevc': VideoCodec('hevc', 'libx265', options={'crf': '22', 'preset': 'fast'}),
    'av1': VideoCodec('av1', 'libsvtav1', options={'crf': '30', 'preset': '12'}),
}
DEPTH_CODEC = VideoCodec(
    'hevc',
    'libx265',
    pix_fmt='gray12le',
    source_format='gray12le',
    options={'x265-params': 'lossless=1:log-level=none', 'preset': 'fast'},
)


class VideoWriter:
    """Writes frames into one mp4 file, one after another."""

    def __init__(
        self, path: Path, *, fps: int, width: int, height: int, codec: VideoCodec
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.frames = 0
        self._codec = codec
        self._time_base = Fraction(1, TICKS_PER_FRAME * fps)
        timescale = {'video_track_timescale': str(TICKS_PER_FRAME * fps)}
        self._container = av.open(str(path), 'w', options=timescale)
        options = {**codec.options, 'g': str(codec.gop)}
        if codec.encoder == 'libx265':
            params = options.pop('x265-params', 'log-level=none')
            # Closed groups: a reader that seeks must not need frames before its key frame.
            options['x265-params'] = f'{params}:keyint={codec.gop}:open-gop=0'
        stream: Any = self._container.add_stream(codec.encoder, rate=fps, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, codec.pix_fmt
        stream.time_base = stream.codec_context.time_base = self._time_base
        self._stream = stream

    def write(self, image: NDArray[Any]) -> None:
        """Append one image: (height, width, 3) uint8 RGB, or (height, width) uint16 codes."""
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), self._codec.source_format)
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

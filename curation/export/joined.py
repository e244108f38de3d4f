# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Segments of one camera joined, as they were encoded, to files of bounded size."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av

from curation.exceptions import ExportError
from curation.export.video import mp4, TICKS_PER_FRAME, time_base

CHUNK = 1000  # files to a chunk folder


@dataclass(frozen=True)
class CameraFile:
    """Where an episode's frames are: a file, and integer frame counts in it."""

    key: str
    file: int
    first: int
    count: int
    fps: int

    def row(self) -> dict[str, Any]:
        """Return the columns that meta/episodes has for it; times from whole frame counts."""
        prefix = f'videos/{self.key}'
        return {
            f'{prefix}/chunk_index': self.file // CHUNK,
            f'{prefix}/file_index': self.file % CHUNK,
            f'{prefix}/from_timestamp': self.first / self.fps,
            f'{prefix}/to_timestamp': (self.first + self.count) / self.fps,
        }


class JoinedVideo:
    """Appends segments to numbered files, from ``file`` on."""

    def __init__(self, folder: Path, key: str, *, fps: int, file: int, file_bytes: int) -> None:
        self.key = key
        self._folder = folder
        self._fps = fps
        self._file = file - 1
        self._file_bytes = file_bytes
        self._container: Any = None
        self._stream: Any = None
        self._parameters = b''
        self._bytes = self._frames = 0

    def add(self, segment: Path, count: int) -> CameraFile:
        """Append a segment of ``count`` frames; ExportError where it has another number."""
        with av.open(str(segment)) as source:
            video: Any = source.streams.video[0]
            parameters = bytes(video.codec_context.extradata or b'')
            if self._container is None or self._bytes > self._file_bytes \
                    or parameters != self._parameters:
                self._open(video, parameters)
            place = CameraFile(self.key, self._file, self._frames, count, self._fps)
            shift = self._frames * TICKS_PER_FRAME
            found = 0
            for packet in source.demux(video):
                if not packet.size:
                    continue
                self._bytes += packet.size
                found += 1
                packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                packet.stream = self._stream
                packet.time_base = time_base(self._fps)
                self._container.mux(packet)
        if found != count:
            raise ExportError(f'{segment}: expected {count} frames, found {found}')
        self._frames += count
        return place

    def close(self) -> None:
        """Finish the last file."""
        if self._container is not None:
            self._container.close()

    def _open(self, template: Any, parameters: bytes) -> None:
        self.close()
        self._file += 1
        self._frames = self._bytes = 0
        self._parameters = parameters
        chunk, number = divmod(self._file, CHUNK)
        path = self._folder / f'videos/{self.key}/chunk-{chunk:03d}/file-{number:03d}.mp4'
        self._container = mp4(path, fps=self._fps)
        self._stream = self._container.add_stream_from_template(template, opaque=True)
        self._stream.time_base = time_base(self._fps)

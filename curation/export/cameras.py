# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""One camera's way through an export: its files, its times in them, its statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.export.depth import encode_depth, MAX_M, MIN_M, SHIFT_M, to_metres
from curation.export.statistics import ImageStatistics
from curation.export.video import DEPTH_CODEC, VideoCodec, VideoWriter

_CHUNK = 1000
_FILE_BYTES = 200 * 2**20


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
            f'{prefix}/chunk_index': self.file // _CHUNK,
            f'{prefix}/file_index': self.file % _CHUNK,
            f'{prefix}/from_timestamp': self.first / self.fps,
            f'{prefix}/to_timestamp': (self.first + self.count) / self.fps,
        }


class CameraTrack:
    """Appends one camera's frames, episode by episode, to files of bounded size.

    Without a codec it is the camera's depth that is written, lossless.
    """

    def __init__(
        self, folder: Path, first: Episode, camera: str, *, fps: int, codec: VideoCodec | None
    ) -> None:
        self.key = f'observation.images.{camera}' + ('' if codec else '_depth')
        self._folder = folder
        self._camera = camera
        self._fps = fps
        self._depth = codec is None
        self._codec = codec or DEPTH_CODEC
        image = self._image(first, 0)
        self._height, self._width = image.shape[:2]
        self._writer: VideoWriter | None = None
        self._file = -1
        if self._depth:
            self._unit = 'mm' if image.dtype == np.uint16 else 'm'
            # LeRobot's statistics of depth are in the unit stored; whole mm keep them exact.
            self.statistics = ImageStatistics(channels=1, levels=65536, scale=1.0)
        else:
            self.statistics = ImageStatistics(channels=3, levels=256, scale=255.0)

    def add(
        self, episode: Episode, progress: Callable[[str, int, int], None]
    ) -> CameraFile:
        """Encode one episode; a frame that several grid times share is decoded once."""
        writer = self._open()
        first = writer.frames
        last = -1
        camera = episode.rig_camera(self._camera)
        stream = (camera.depth or '') if self._depth else camera.image
        indices = episode.tracks[stream].indices
        stored: NDArray[Any] | None = None
        image: NDArray[Any] | None = None
        for i, index in enumerate(indices):
            if index != last or stored is None or image is None:
                image, last = self._image(episode, i), int(index)
                stored = encode_depth(to_metres(image)) if self._depth else image
            writer.write(stored)
            self.statistics.add(self._counted(image))
            progress(self.key, i + 1, len(indices))
        return CameraFile(self.key, self._file, first, len(indices), self._fps)

    def close(self) -> None:
        """Finish the last file."""
        if self._writer is not None:
            self._writer.close()

    def feature(self) -> dict[str, Any]:
        """Return the feature as info.json describes it."""
        info: dict[str, Any] = {
            'video.height': self._height,
            'video.width': self._width,
            'video.codec': self._codec.name,
            'video.pix_fmt': self._codec.pix_fmt,
            'video.fps': self._fps,
            'video.channels': 1 if self._depth else 3,
            'video.g': self._codec.gop,
            'video.crf': int(self._codec.options.get('crf', 0)),
            'video.preset': self._codec.options.get('preset'),
            'video.fast_decode': 0,
            'video.video_backend': 'pyav',
            'video.extra_options': {},
            'has_audio': False,
            'is_depth_map': self._depth,
        }
        if self._depth:
            info |= {
                'depth_unit': self._unit,
                'video.depth_min': MIN_M,
                'video.depth_max': MAX_M,
                'video.shift': SHIFT_M,
                'video.use_log': True,
            }
        shape = [self._height, self._width, 1 if self._depth else 3]
        return {
            'dtype': 'video',
            'shape': shape,
            'names': ['height', 'width', 'channels'],
            'info': info,
        }

    def _image(self, episode: Episode, i: int) -> NDArray[Any]:
        return episode.depth(self._camera, i) if self._depth else episode.frame(self._camera, i)

    def _counted(self, image: NDArray[Any]) -> NDArray[Any]:
        if not self._depth or image.dtype == np.uint16:
            return image
        return np.rint(to_metres(image) * 1000).astype(np.uint16)

    def _open(self) -> VideoWriter:
        full = self._writer is not None and self._writer.path.stat().st_size > _FILE_BYTES
        if self._writer is None or full:
            if self._writer is not None:
                self._writer.close()
            self._file += 1
            chunk, number = divmod(self._file, _CHUNK)
            path = self._folder / f'videos/{self.key}/chunk-{chunk:03d}/file-{number:03d}.mp4'
            self._writer = VideoWriter(
                path, fps=self._fps, width=self._width, height=self._height, codec=self._codec
            )
        return self._writer

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the episodes of one LeRobot dataset have in common, and what an odd one lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curation.align.episode import Episode
from curation.exceptions import ExportError
from curation.export.action import ActionSource
from curation.export.depth import MAX_M, MIN_M, SHIFT_M
from curation.export.features import Column, columns
from curation.export.segments import Encoded
from curation.export.video import VideoCodec


@dataclass(frozen=True)
class Layout:
    """The dataset's features; ``videos`` maps a feature's key to its camera and if it is depth."""

    first: str                                  # name of the episode that it was taken from
    fps: int
    features: Mapping[str, Column]
    videos: Mapping[str, tuple[str, bool]]
    robot_type: str

    @property
    def cameras(self) -> tuple[str, ...]:
        """Return the names of the videos."""
        return tuple(key.removeprefix('observation.images.') for key in self.videos)

    def video_feature(
        self, shown: Encoded, codec: VideoCodec, *, depth: bool
    ) -> dict[str, Any]:
        """Return a video as info.json describes it."""
        info: dict[str, Any] = {
            'video.height': shown.height,
            'video.width': shown.width,
            'video.codec': codec.name,
            'video.pix_fmt': codec.pix_fmt,
            'video.fps': self.fps,
            'video.channels': 1 if depth else 3,
            'video.g': codec.gop,
            'video.crf': int(codec.options.get(codec.quality, 0)),
            'video.preset': codec.options.get('preset'),
            'video.fast_decode': 0,
            'video.video_backend': 'pyav',
            'video.extra_options': {},
            'has_audio': False,
            'is_depth_map': depth,
        }
        if depth:
            info |= {
                'depth_unit': shown.unit,
                'video.depth_min': MIN_M,
                'video.depth_max': MAX_M,
                'video.shift': SHIFT_M,
                'video.use_log': True,
            }
        return {
            'dtype': 'video',
            'shape': [shown.height, shown.width, 1 if depth else 3],
            'names': ['height', 'width', 'channels'],
            'info': info,
        }


def layout_of(episodes: Sequence[Episode], action: ActionSource) -> Layout:
    """Return the first episode's layout; ExportError where LeRobot can't have its rate."""
    first = episodes[0]
    rate = 1e9 / first.period_ns
    fps = round(rate)
    if abs(rate - fps) > 1e-3 or not fps:
        raise ExportError(
            f'{first.name}: LeRobot needs a whole number of frames per second, found '
            f'{rate:.4f}: align at another rate'
        )
    videos = {}
    for camera in first.cameras:
        videos[f'observation.images.{camera}'] = (camera, False)
        if first.rig_camera(camera).depth in first.frames:
            videos[f'observation.images.{camera}_depth'] = (camera, True)
    return Layout(first.name, fps, columns(first, action), videos, first.rig.robot_type)


def require_fit(episodes: Sequence[Episode], layout: Layout, action: ActionSource) -> None:
    """Raise ExportError, naming the first episode that differs and how; decodes no image."""
    expected = {name: (column.shape, column.names) for name, column in layout.features.items()}
    cameras = tuple(camera for camera, depth in layout.videos.values() if not depth)
    for episode in episodes:
        if not len(episode):
            raise ExportError(f'{episode.name}: has no sample')
        if round(1e9 / episode.period_ns) != layout.fps:
            raise ExportError(
                f'{episode.name}: {1e9 / episode.period_ns:.3f} Hz, '
                f'but {layout.first} has {layout.fps} Hz'
            )
        if episode.cameras != cameras:
            raise ExportError(
                f'{episode.name}: cameras {episode.cameras}, but {layout.first} has {cameras}'
            )
        found = {
            name: (column.shape, column.names) for name, column in columns(episode, action).items()
        }
        for name in sorted({*found, *expected}):
            if found.get(name) != expected.get(name):
                raise ExportError(
                    f"{episode.name}: feature '{name}' is {found.get(name, 'absent')}, "
                    f'in {layout.first} it is {expected.get(name, "absent")}'
                )
        for camera, depth in layout.videos.values():
            if depth and episode.rig_camera(camera).depth not in episode.frames:
                raise ExportError(
                    f"{episode.name}: has no depth of '{camera}', but {layout.first} has")

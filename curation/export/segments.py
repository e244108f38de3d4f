# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""One episode's frames of one camera as a video of its own: encoded anywhere, joined later.

Segments are independent of each other, so that they can be encoded on every core or machine, a
stopped export goes on with those that are missing, and the result does not depend on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode, Image
from curation.exceptions import ExportError
from curation.export.depth import encode_depth, to_metres
from curation.export.images import Shape
from curation.export.passthrough import copy_packets, packets_of
from curation.export.statistics import ImageStatistics
from curation.export.video import VideoCodec, VideoWriter

_SIDE = '.npz'  # beside the video: its statistics, and frames to compare with


@dataclass(frozen=True)
class Segment:
    """What one segment is made of; it can be sent to another process.

    ``indices`` (m,) counts the source's images, -1 where a sample is masked: such a sample repeats
    the image before it (at the start the one after), and the column ``valid`` says so.
    """

    path: Path
    name: str                         # episode and camera, for messages
    frames: Callable[[int], Image]
    indices: NDArray[np.int64]
    fps: int
    shape: Shape
    codec: VideoCodec
    depth: bool = False
    passthrough: bool = False         # copy a source that is this codec already

    @property
    def compared(self) -> tuple[int, ...]:
        """Return the samples that are compared with the source: first, middle and last."""
        return tuple(sorted({0, len(self.indices) // 2, len(self.indices) - 1}))


@dataclass(frozen=True)
class Encoded:
    """What is kept of a finished segment beside its video."""

    path: Path
    statistics: ImageStatistics
    witnesses: dict[int, Image]       # source images, cropped and resized, by sample
    height: int
    width: int
    unit: str                         # of depth: mm or m, else empty


def segment_of(
    episode: Episode,
    camera: str,
    path: Path,
    *,
    fps: int,
    shape: Shape,
    codec: VideoCodec,
    depth: bool = False,
    passthrough: bool = False,
) -> Segment:
    """Return the segment of a camera's colour or depth images; it does not decode any."""
    declared = episode.rig_camera(camera)
    stream = (declared.depth or '') if depth else declared.image
    indices = hold_masked(episode.tracks[stream].indices, f'{episode.name}: camera {camera}')
    where = f'{episode.name}: camera {camera}' + (' depth' if depth else '')
    return Segment(
        path, where, episode.frames[stream], indices, fps, shape, codec, depth, passthrough
    )


def hold_masked(indices: NDArray[np.int64], where: str) -> NDArray[np.int64]:
    """Return message indices with masked ones (-1) replaced by their neighbour's."""
    known = np.flatnonzero(indices >= 0)
    if not len(known):
        raise ExportError(f'{where}: every sample is masked')
    before = np.searchsorted(known, np.arange(len(indices)), side='right') - 1
    held: NDArray[np.int64] = indices[known[np.maximum(before, 0)]]
    return held


def write_segment(segment: Segment) -> None:
    """Encode a segment, whole or not at all; one that is there already is left as it is.

    A frame that several samples share is decoded, resized and counted once.
    """
    side = segment.path.with_suffix(_SIDE)
    if segment.path.is_file() and side.is_file():
        return
    segment.path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = segment.path.with_name(f'{segment.path.stem}.unfinished.mp4')
    kept, statistics, unit = _encode(segment, unfinished)
    arrays: dict[str, Any] = {f'frame_{i}': image for i, image in kept.items()}
    np.savez(side, counts=statistics.counts, unit=np.array(unit), **arrays)
    unfinished.rename(segment.path)


def read_segment(segment: Segment) -> Encoded:
    """Return what a finished segment says of itself."""
    with np.load(segment.path.with_suffix(_SIDE)) as side:
        witnesses = {i: side[f'frame_{i}'] for i in segment.compared}
        statistics = (depth_statistics if segment.depth else colour_statistics)()
        statistics.merge(side['counts'])
        unit = str(side['unit'])
    height, width = witnesses[0].shape[:2]
    return Encoded(segment.path, statistics, witnesses, height, width, unit)


def colour_statistics() -> ImageStatistics:
    """Return empty statistics of RGB images, scaled to [0, 1]."""
    return ImageStatistics(channels=3, levels=256, scale=255.0)


def depth_statistics() -> ImageStatistics:
    """Return empty statistics of depth in whole mm, which keep them exact."""
    return ImageStatistics(channels=1, levels=65536, scale=1.0)


def _encode(
    segment: Segment, path: Path
) -> tuple[dict[int, Image], ImageStatistics, str]:
    """Write the video; return the frames to compare with, the statistics and the depth's unit."""
    copied = packets_of(segment.frames, segment.indices, segment.codec.name) \
        if segment.passthrough and not segment.depth and segment.shape == Shape() else None
    statistics = (depth_statistics if segment.depth else colour_statistics)()
    witnesses: dict[int, Image] = {}
    writer: VideoWriter | None = None
    unit = ''
    for first, stop, image in _runs(segment):
        if segment.depth:
            unit = 'mm' if image.dtype == np.uint16 else 'm'
        statistics.add(_counted(image, depth=segment.depth), times=stop - first)
        witnesses |= {i: image for i in segment.compared if first <= i < stop}
        if copied is not None:
            continue
        if writer is None:
            height, width = image.shape[:2]
            writer = VideoWriter(
                path, fps=segment.fps, width=width, height=height, codec=segment.codec
            )
        stored = encode_depth(to_metres(image)) if segment.depth else image
        writer.write(stored, times=stop - first)
    if writer is not None:
        writer.close()
    elif copied is not None:
        copy_packets(copied, path, fps=segment.fps, codec=segment.codec.name)
    return witnesses, statistics, unit


def _runs(segment: Segment) -> Iterator[tuple[int, int, Image]]:
    """Yield (first sample, last + 1, image as stored) for samples that share a message."""
    indices = segment.indices
    starts = np.flatnonzero(np.diff(indices, prepend=indices[0] - 1))
    for first, stop in zip(starts, [*starts[1:], len(indices)], strict=True):
        image = segment.frames(int(indices[first]))
        yield int(first), int(stop), segment.shape.apply(image, segment.name, depth=segment.depth)


def _counted(image: NDArray[Any], *, depth: bool) -> NDArray[Any]:
    if not depth or image.dtype == np.uint16:
        return image
    return np.rint(to_metres(image) * 1000).astype(np.uint16)

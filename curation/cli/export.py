# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel export``: align bags and write them in the format that a trainer reads."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
import re
import shutil

from curation.align.episode import Episode
from curation.cli.exits import Exit
from curation.cli.output import Advance, Output
from curation.cli.paths import (
    add_alignment,
    add_bags,
    add_executor,
    aligned,
    executor_of,
    manifest_of,
)
from curation.exceptions import UsageError
from curation.export.action import ActionSource
from curation.export.arrays import ArrayOptions
from curation.export.images import Shape
from curation.export.scored import score_columns
from curation.export.video import CODECS
from curation.manifests.weights import options_from
from curation.remote import path_or_url, require_free, staging_of, upload, Url
from curation.scores.score import score_all


class Format(Enum):
    """What can be written."""

    LEROBOT = 'lerobot'
    ROBOMIMIC = 'robomimic'
    ZARR = 'zarr'
    FRAMES = 'frames'


# the file without which no reader takes it for an export
_WHOLE = {
    Format.LEROBOT: ('meta/info.json',),
    Format.ROBOMIMIC: ('dataset.hdf5',),
    Format.ZARR: ('.zgroup',),
    Format.FRAMES: ('info.json',),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_bags(parser)
    parser.add_argument(
        '--out', type=path_or_url, required=True, help='folder to make, or its URL')
    parser.add_argument(
        '--format', type=Format, choices=list(Format), default=Format.LEROBOT,
        metavar='{lerobot,robomimic,zarr,frames}', help='what to write (lerobot)')
    parser.add_argument(
        '--size', type=_size, metavar='WxH', help='of images, resized by area (as recorded)')
    parser.add_argument(
        '--crop', type=_crop, metavar='LEFT,TOP,WxH', help='of images, before they are resized')
    parser.add_argument(
        '--action', type=ActionSource, choices=list(ActionSource), default=ActionSource.EXECUTED,
        metavar='{executed,human}', help='which command is learned (executed)')
    parser.add_argument(
        '--codec', choices=list(CODECS), default='h264', help='of LeRobot videos (h264)')
    parser.add_argument(
        '--gop', type=int, help='frames from one key frame to the next (2)')
    parser.add_argument(
        '--quality', type=int, help="the codec's crf or cq: less is better (its own)")
    parser.add_argument(
        '--passthrough', action='store_true',
        help='copy video that has the codec already where it fits the grid')
    parser.add_argument(
        '--append', action='store_true', help='add episodes that the LeRobot dataset has not yet')
    parser.add_argument(
        '--lossless', action='store_true', help='frames as PNG instead of JPEG')
    add_alignment(parser)
    add_executor(parser)


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Export; the folder is there whole or not at all."""
    _refuse_contradictions(arguments)
    failures: list[str] = []
    with output.progress('aligning') as advance:
        episodes = []
        for episode in aligned(arguments, output, failures):
            episodes.append(episode)
            advance(len(episodes), len(episodes), f'aligned {episode.name}')
    with output.progress('exporting') as advance:
        path = _export(arguments, episodes, advance)
    samples = sum(len(episode) for episode in episodes)
    output.line(f'{path}: {len(episodes)} episodes, {samples} samples')
    output.document(
        {
            'path': str(path),
            'format': arguments.format.value,
            'episodes': [episode.id for episode in episodes],
            'samples': samples,
            'failures': failures,
        }
    )
    return Exit.BAD_DATA if failures else Exit.OK


def _export(
    arguments: argparse.Namespace, episodes: Sequence[Episode], advance: Advance
) -> Path | Url:
    if isinstance(arguments.out, Url):
        return _export_to_url(arguments, arguments.out, episodes, advance)
    return _export_to(arguments.out, arguments, episodes, advance)


def _export_to_url(
    arguments: argparse.Namespace, out: Url, episodes: Sequence[Episode], advance: Advance
) -> Url:
    whole = _WHOLE[arguments.format]
    if arguments.append:
        raise UsageError('--append: expected a folder of this machine, found a URL')
    require_free(out, whole)
    folder = staging_of(out)
    shutil.rmtree(folder, ignore_errors=True)  # of an upload that was stopped
    _export_to(folder, arguments, episodes, advance)
    upload(folder, out, last=whole)
    return out


def _export_to(
    out: Path, arguments: argparse.Namespace, episodes: Sequence[Episode], advance: Advance
) -> Path:
    def progress(what: str, done: int, total: int) -> None:
        advance(done, total, what)

    width, height = arguments.size or (0, 0)
    shape = Shape(width, height, arguments.crop)
    arrays = ArrayOptions(shape, arguments.action)
    if arguments.format is Format.ROBOMIMIC:
        from curation.export.robomimic import export_robomimic

        return export_robomimic(episodes, out, arrays, progress=progress)
    if arguments.format is Format.ZARR:
        from curation.export.zarr_buffer import export_zarr

        return export_zarr(episodes, out, arrays, progress=progress)
    extra = score_columns(score_all(episodes))
    if arguments.format is Format.FRAMES:
        from curation.export.frames import export_frames, FrameEncoding, FrameOptions

        encoding = FrameEncoding.PNG if arguments.lossless else FrameEncoding.JPEG
        frames = FrameOptions(shape, encoding, action=arguments.action, extra=extra)
        return export_frames(episodes, out, frames, progress=progress)
    from curation.export.lerobot import export_lerobot, LeRobotOptions

    codec = CODECS[arguments.codec].tuned(gop=arguments.gop, quality=arguments.quality)
    videos = LeRobotOptions(
        codec, shape, arguments.action, extra, passthrough=arguments.passthrough)
    if manifest := manifest_of(arguments):
        videos = replace(
            videos,
            manifest=manifest.hash,
            weighting=options_from(manifest.chosen_by['weights']),
            weights={entry.id: entry.weight for entry in manifest.episodes},
        )
    executor = executor_of(arguments, len(episodes)) if arguments.executor else None
    return export_lerobot(
        episodes, out, videos, append=arguments.append, executor=executor, progress=progress
    ).path


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    """Raise UsageError for options that the format has no use for: none is ignored."""
    if arguments.format is not Format.LEROBOT:
        for name in ('gop', 'quality', 'passthrough', 'append'):
            if getattr(arguments, name):
                raise UsageError(
                    f'--{name}: expected with --format lerobot, found {arguments.format.value}')
    if arguments.gop is not None and arguments.gop < 1:
        raise UsageError(f'--gop: expected at least 1, found {arguments.gop}')
    if arguments.lossless and arguments.format is not Format.FRAMES:
        raise UsageError(
            f'--lossless: expected with --format frames, found {arguments.format.value}')


def _size(text: str) -> tuple[int, int]:
    match = re.fullmatch(r'([1-9]\d*)x([1-9]\d*)', text)
    if not match:
        raise argparse.ArgumentTypeError(f'expected as 224x224, found {text!r}')
    return int(match[1]), int(match[2])


def _crop(text: str) -> tuple[int, int, int, int]:
    match = re.fullmatch(r'(\d+),(\d+),([1-9]\d*)x([1-9]\d*)', text)
    if not match:
        raise argparse.ArgumentTypeError(f'expected as 80,0,480x480, found {text!r}')
    left, top, width, height = (int(part) for part in match.groups())
    return left, top, width, height

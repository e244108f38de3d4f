# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings from whatever a path is: bags, folders of bags, LeRobot or robomimic datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from curation.align.extract import extract
from curation.align.load import rig_of
from curation.align.series import Recording
from curation.bag.draft import draft_rig
from curation.bag.find import find_bags
from curation.bag.reader import open_bag
from curation.remote import local_path, Url
from curation.sources.lerobot import is_lerobot, LeRobotSource
from curation.sources.robomimic import is_robomimic, RobomimicSource
from curation.sources.table import ALL
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.rig.schema import Rig

OnError = Callable[[Path, FlywheelError], None]

_PART = 16  # episodes of a dataset that are read together


@dataclass(frozen=True)
class Source:
    """A bag, or a part of a dataset: what one worker reads at a time.

    A bag is read by ``rig``, else by the one it carries, else by a draft.
    """

    path: Path
    rig: Rig | None = None
    part: slice | None = None

    def __str__(self) -> str:
        return str(self.path)

    def recordings(self) -> Iterator[Recording]:
        """Yield its recordings, one at a time; FlywheelError where it can't be read."""
        dataset = _dataset(self.path)
        if dataset is None:
            yield _bag_recording(self.path, self.rig)
        else:
            yield from dataset.recordings(self.part or ALL)


def sources(paths: Iterable[Path | Url], rig: Rig | None = None) -> list[Source]:
    """Return what there is to read in bags and datasets; BagError where there is nothing."""
    found: list[Source] = []
    for path in map(local_path, paths):
        try:
            dataset = _dataset(path)
        except FlywheelError:
            found.append(Source(path))  # reading it tells what is wrong with it
            continue
        if dataset is None:
            found += [Source(bag, rig) for bag in find_bags([path])]
        else:
            starts = range(0, len(dataset), _PART)
            found += [Source(path, part=slice(start, start + _PART)) for start in starts]
    return found


def recordings(
    paths: Iterable[Path | Url], rig: Rig | None = None, *, on_error: OnError | None = None
) -> Iterator[Recording]:
    """Yield the recordings of bags and datasets, one at a time.

    What can't be read is given to ``on_error``, or raised as FlywheelError.
    """
    for source in sources(paths, rig):
        try:
            yield from source.recordings()
        except FlywheelError as error:
            if on_error is None:
                raise
            on_error(source.path, error)


def _dataset(path: Path) -> LeRobotSource | RobomimicSource | None:
    if is_lerobot(path):
        return LeRobotSource(path)
    return RobomimicSource(path) if is_robomimic(path) else None


def _bag_recording(path: Path, rig: Rig | None) -> Recording:
    with open_bag(path) as bag:
        if rig is None:
            rig = rig_of(bag) if bag.custom_data.get('rig') else draft_rig(bag)
        return extract(bag, rig)

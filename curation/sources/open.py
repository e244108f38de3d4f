# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings from whatever a path is: bags, folders of bags, LeRobot or robomimic datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from curation.align.extract import extract
from curation.align.load import rig_of
from curation.align.series import Recording
from curation.bag.draft import draft_rig
from curation.bag.find import find_bags
from curation.bag.reader import open_bag
from curation.sources.lerobot import is_lerobot, LeRobotSource
from curation.sources.robomimic import is_robomimic, RobomimicSource
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.rig.schema import Rig

OnError = Callable[[Path, FlywheelError], None]


def recordings(
    paths: Iterable[Path], rig: Rig | None = None, *, on_error: OnError | None = None
) -> Iterator[Recording]:
    """Yield the recordings of bags and datasets, one at a time.

    A bag is read by ``rig``, else by the one it carries, else by a draft. What can't be read is
    given to ``on_error``, or raised as FlywheelError.
    """
    for path in paths:
        if is_lerobot(path):
            yield from LeRobotSource(path).recordings()
        elif is_robomimic(path):
            yield from RobomimicSource(path).recordings()
        else:
            for bag_path in find_bags([path]):
                try:
                    yield _bag_recording(bag_path, rig)
                except FlywheelError as error:
                    if on_error is None:
                        raise
                    on_error(bag_path, error)


def _bag_recording(path: Path, rig: Rig | None) -> Recording:
    with open_bag(path) as bag:
        if rig is None:
            rig = rig_of(bag) if bag.custom_data.get('rig') else draft_rig(bag)
        return extract(bag, rig)

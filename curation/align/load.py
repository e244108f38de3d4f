# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""From a path to aligned episodes, by the rig file in the bag or one that is given."""

from __future__ import annotations

from pathlib import Path

from curation.align.align import align
from curation.align.episode import Episode
from curation.align.extract import extract
from curation.align.options import AlignOptions, DEFAULT
from curation.bag.reader import BagReader, open_bag
from curation.exceptions import StreamError
from teleop_bridge.rig.loader import parse_rig
from teleop_bridge.rig.schema import Rig


def rig_of(bag: BagReader) -> Rig:
    """Return the rig that a bag carries; StreamError where it carries none, RigError if broken."""
    text = bag.custom_data.get('rig')
    if not text:
        raise StreamError(
            f'{bag.path}: carries no rig file (it was not recorded by ours): give one, '
            "'flywheel rig draft' writes a first"
        )
    return parse_rig(text, f'{bag.path}: rig')


def load_episodes(
    path: Path | str, rig: Rig | None = None, options: AlignOptions = DEFAULT
) -> list[Episode]:
    """Read and align a bag: one episode, or its parts where ``on_gap`` splits it.

    Without ``rig`` the bag's own is used. Raises FlywheelError as reading and aligning do.
    """
    with open_bag(path) as bag:
        return align(extract(bag, rig or rig_of(bag)), options)


def load_episode(
    path: Path | str, rig: Rig | None = None, options: AlignOptions = DEFAULT
) -> Episode:
    """Read and align a bag that is one episode, see ``load_episodes``."""
    return load_episodes(path, rig, options)[0]

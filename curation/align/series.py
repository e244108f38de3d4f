# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""One stream as arrays, in the order in which its messages were received."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Facts, Image, Intervention, Times, Values
from curation.bag.model import Problem
from teleop_bridge.rig.schema import Rig, Stream

NO_TIME = -1


@dataclass(frozen=True)
class Fault:
    """A message whose values can't be used: a joint repeated, not finite, of unknown order."""

    index: int
    stamp_ns: int
    text: str
    joint: str = ''


@dataclass(frozen=True)
class JointTable:
    """Joints of n messages by name: each array (n, len(names)), NaN where a message has none.

    ``layouts`` tells from which message on which names came in which order.
    """

    names: tuple[str, ...]
    positions: Values
    velocities: Values
    efforts: Values
    present: NDArray[np.bool_]
    layouts: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Table:
    """Named numbers of n messages: ``values`` (n, len(names)), and n texts where there are any."""

    names: tuple[str, ...]
    values: Values
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Series:
    """The n messages of one stream. Times in ns, -1 where a message has no such time.

    ``stamps_ns`` is the declared one of the other three. ``refs`` (n, 4) reads a message again.
    """

    stream: Stream
    topic: str
    stamps_ns: Times
    header_ns: Times
    publish_ns: Times
    log_ns: Times
    refs: Times
    sizes: Times  # bytes of each message
    joints: JointTable | None = None
    table: Table | None = None
    faults: tuple[Fault, ...] = ()

    def __len__(self) -> int:
        return len(self.stamps_ns)


@dataclass(frozen=True)
class Recording:
    """A bag's declared streams as arrays; ``missing`` streams have no message in it.

    ``frames`` gives an image stream's images by their place in stamp order.
    """

    id: str
    name: str
    path: str
    rig: Rig
    facts: Facts
    series: Mapping[str, Series]
    missing: tuple[Stream, ...]
    interventions: tuple[Intervention, ...]
    problems: tuple[Problem, ...] = ()
    frames: Mapping[str, Callable[[int], Image]] = field(default_factory=dict, repr=False)

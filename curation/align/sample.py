# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Values of a merged signal at grid times, each with its own age."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, Slerp

from curation.align.episode import Signal, Times, Values
from curation.align.hold import Pick
from curation.align.merge import Merged, Source
from curation.align.options import Interpolation

Picker = Callable[[Times, Times, 'int | None'], Pick]


@dataclass(frozen=True)
class Stale:
    """Where a source is not fresh: its stream and, at each of m grid times, age and flag."""

    stream: str
    max_age_ns: int | None
    age_ns: Times
    stale: NDArray[np.bool_]


def sample(
    merged: Merged,
    grid_ns: Times,
    picker: Picker,
    interpolation: Interpolation = Interpolation.HOLD,
    held: frozenset[int] = frozenset(),
) -> tuple[Signal, list[Stale]]:
    """Sample a signal; returns it and, per source, where it is stale.

    ``held`` columns, such as grippers, are never interpolated. A value that is not fresh is NaN.
    """
    size = (len(grid_ns), len(merged.names))
    values, age = np.full(size, np.nan), np.zeros(size, np.int64)
    valid = np.ones(len(grid_ns), bool)
    stale = []
    for source in merged.sources:
        pick = picker(source.stamps_ns, grid_ns, source.max_age_ns)
        rows = source.values[np.maximum(pick.index, 0)]
        if interpolation is not Interpolation.HOLD:
            rows = _interpolate(source, grid_ns, pick, rows, interpolation, held)
        rows = np.where(pick.fresh[:, None], rows, np.nan)
        values[:, source.columns] = rows
        age[:, source.columns] = pick.age_ns[:, None]
        valid &= pick.fresh
        stale.append(Stale(source.stream, source.max_age_ns, pick.age_ns, ~pick.fresh))
    return Signal(merged.names, values, age, valid), stale


def _interpolate(
    source: Source,
    grid: Times,
    pick: Pick,
    rows: Values,
    kind: Interpolation,
    held: frozenset[int],
) -> Values:
    """Move held rows towards the next message; the last message has none and stays held."""
    stamps = source.stamps_ns
    before = np.clip(pick.index, 0, len(stamps) - 1)
    after = np.minimum(before + 1, len(stamps) - 1)
    gap = stamps[after] - stamps[before]
    part = np.where(gap > 0, (grid - stamps[before]) / np.maximum(gap, 1), 0.0)[:, None]
    moved = rows + part * (source.values[after] - rows)
    if kind is Interpolation.SLERP:
        moved[:, 3:7] = _slerp(source.values[:, 3:7], before, after, part[:, 0])
    columns = [k for k, column in enumerate(source.columns) if column in held]
    moved[:, columns] = rows[:, columns]
    return moved


def _slerp(quaternions: Values, before: Times, after: Times, part: Values) -> Values:
    """Turn from one quaternion (x, y, z, w) a part of the shorter way to the next."""
    if len(quaternions) < 2:
        return quaternions[before]
    turns = Slerp(np.arange(len(quaternions)), Rotation.from_quat(quaternions))
    return np.asarray(turns(before + np.where(after > before, part, 0.0)).as_quat())

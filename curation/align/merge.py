# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""All streams of one role as one set of named values; partial publishers are merged by joint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Times, Values
from curation.align.options import OnGap
from curation.align.series import Series
from curation.exceptions import StreamError
from teleop_bridge.exceptions import JointError


@dataclass(frozen=True)
class Source:
    """Some values that came together: ``columns`` of the signal, ``values`` (n, len(columns)).

    ``stamps_ns`` (n,) ascends. ``stream`` is the stream with the least patience among those it
    comes from.
    """

    stream: str
    max_age_ns: int | None
    columns: tuple[int, ...]
    stamps_ns: Times
    values: Values


@dataclass(frozen=True)
class Merged:
    """One role's values by name, as sources that each have their own times."""

    names: tuple[str, ...]
    sources: tuple[Source, ...]


def sort_stamps(series: Series, correction_ns: int) -> tuple[NDArray[np.intp], Times]:
    """Return the order of a stream's messages by stamp and their stamps in it, corrected."""
    order = np.argsort(series.stamps_ns, kind='stable')
    return order, series.stamps_ns[order] + correction_ns


def merge_joints(
    role: str,
    several: Sequence[Series],
    names: Sequence[str],
    *,
    strict: bool,
    on_gap: OnGap,
    corrections_ns: dict[str, int],
    where: str,
    effort: bool = False,
) -> Merged:
    """Merge joint streams of one role by name.

    Messages with faults raise JointError, or are left out where gaps are masked or split. Raises
    JointError where a joint is in no message, or one is unknown and the rig is strict.
    """
    _refuse_faults(several, names, strict=strict, on_gap=on_gap, where=where, effort=effort)
    groups: dict[bytes, list[int]] = {}
    masks: dict[bytes, list[NDArray[np.bool_]]] = {}
    for column, name in enumerate(names):
        usable = [_usable(series, name, effort=effort) for series in several]
        if not any(mask.any() for mask in usable):
            streams = ', '.join(series.stream.name for series in several)
            raise JointError(f"{where}: joint '{name}' is in no message of the {role} ({streams})")
        key = b'|'.join(np.packbits(mask).tobytes() for mask in usable)
        groups.setdefault(key, []).append(column)
        masks[key] = usable
    return Merged(
        tuple(names),
        tuple(
            _source(
                several, [names[c] for c in columns], columns, masks[key], corrections_ns, effort
            )
            for key, columns in groups.items()
        ),
    )


def _array(series: Series, *, effort: bool) -> Values:
    assert series.joints is not None
    return series.joints.efforts if effort else series.joints.positions


def _usable(series: Series, name: str, *, effort: bool) -> NDArray[np.bool_]:
    assert series.joints is not None
    if name not in series.joints.names:
        return np.zeros(len(series), bool)
    usable = np.isfinite(_array(series, effort=effort)[:, series.joints.names.index(name)])
    usable[[fault.index for fault in series.faults]] = False
    return np.asarray(usable)


def _source(
    several: Sequence[Series],
    names: Sequence[str],
    columns: Sequence[int],
    masks: Sequence[NDArray[np.bool_]],
    corrections_ns: dict[str, int],
    effort: bool,
) -> Source:
    stamps, values, streams = [], [], []
    for series, mask in zip(several, masks, strict=True):
        if not mask.any():
            continue
        assert series.joints is not None
        picked = [series.joints.names.index(name) for name in names]
        stamps.append(series.stamps_ns[mask] + corrections_ns.get(series.stream.name, 0))
        values.append(_array(series, effort=effort)[mask][:, picked])
        streams.append(series.stream)
    times, rows = np.concatenate(stamps), np.concatenate(values)
    order = np.argsort(times, kind='stable')
    ages = [stream for stream in streams if stream.max_age_ns is not None]
    patient = min(ages or streams, key=lambda stream: stream.max_age_ns or 0)
    return Source(patient.name, patient.max_age_ns, tuple(columns), times[order], rows[order])


def _refuse_faults(
    several: Sequence[Series],
    names: Sequence[str],
    *,
    strict: bool,
    on_gap: OnGap,
    where: str,
    effort: bool,
) -> None:
    for series in several:
        if series.joints is None:
            raise StreamError(f"{where}: stream '{series.stream.name}' carries no joints")
        extra = [name for name in series.joints.names if name not in names]
        if strict and extra:
            raise JointError(
                f"{where}: stream '{series.stream.name}': unknown joint '{extra[0]}' "
                '(the rig is strict)'
            )
        if on_gap is not OnGap.RAISE or not series.stream.required:
            continue
        if series.faults:
            fault = series.faults[0]
            raise JointError(
                f"{where}: stream '{series.stream.name}' at {fault.stamp_ns} ns: {fault.text}"
            )
        values, present = _array(series, effort=effort), series.joints.present
        for column, name in enumerate(series.joints.names):
            bad = present[:, column] & ~np.isfinite(values[:, column])
            if name in names and not effort and bad.any():
                row = int(np.argmax(bad))
                raise JointError(
                    f"{where}: stream '{series.stream.name}' at {series.stamps_ns[row]} ns: joint "
                    f"'{name}' is not finite ({values[row, column]})"
                )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Turn many messages that carry joints into arrays, by name in every message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import struct
from typing import Any

import numpy as np

from curation.align.episode import Values
from curation.align.series import JointTable
from curation.bag.decoder import Decoder, MAX_PADDING
from curation.bag.model import Buffer
from curation.exceptions import DecodeError

_WORD = struct.Struct('<I')
_LITTLE_ENDIAN = b'\x00\x01'
_BODY = 4  # bytes before the body of a serialised message
_STAMP_END = 12  # and before what follows the header's stamp

Row = tuple[tuple[str, ...], Any, Any, Any]  # names, positions, velocities, efforts


@dataclass(frozen=True)
class _Layout:
    """Where a serialised JointState holds its numbers; ``key`` is what its like must share."""

    size: int
    key: bytes
    names: tuple[str, ...]
    counts: tuple[tuple[int, int], ...]  # (offset of a count, count) of the three arrays
    starts: tuple[int, int, int]


class JointRows:
    """Collects one stream's messages. ``array_names`` names the values of a bare array.

    Messages of equal layout are decoded together as one array; all others one by one.
    """

    def __init__(self, decoder: Decoder, array_names: Sequence[str]) -> None:
        self._decoder = decoder
        self._row = _row_reader(decoder, tuple(array_names))
        self._fast = decoder.type == 'sensor_msgs/msg/JointState' and decoder.same_as_standard()
        self._count = 0
        self._layout: _Layout | None = None
        self._bucket: tuple[list[int], list[bytes]] = ([], [])
        self._alike: dict[_Layout, tuple[list[int], list[bytes]]] = {}
        self._rows: list[tuple[int, Row]] = []

    def add(self, data: Buffer) -> None:
        """Take one message; DecodeError, and nothing taken, where it can't be decoded."""
        if self._fast and self._take_alike(data):
            return
        self._rows.append((self._count, self._row(self._decoder.decode(data))))
        self._count += 1

    def _take_alike(self, data: Buffer) -> bool:
        layout = self._layout
        if (
            layout is None
            or len(data) != layout.size
            or data[_STAMP_END : _STAMP_END + len(layout.key)] != layout.key
        ):
            layout = self._layout = _layout(data)
            if layout is None:
                return False
            self._bucket = self._alike.setdefault(layout, ([], []))
        indices, parts = self._bucket
        indices.append(self._count)
        parts.append(bytes(data))
        self._count += 1
        return True

    def table(self) -> JointTable:
        """Return what was taken as arrays."""
        groups: list[tuple[tuple[str, ...], list[int], list[Values | None]]] = []
        for layout, (indices, parts) in self._alike.items():
            stack = np.frombuffer(b''.join(parts), np.uint8).reshape(len(parts), layout.size)
            groups += self._split(layout, indices, parts, stack)
        for index, (names, *arrays) in self._rows:
            groups.append((names, [index], [_one(values) for values in arrays]))
        names = tuple(dict.fromkeys(name for group in groups for name in group[0]))
        columns = {name: i for i, name in enumerate(names)}
        filled = [np.full((self._count, len(names)), np.nan) for _ in range(3)]
        present = np.zeros((self._count, len(names)), bool)
        for group_names, indices, arrays in groups:
            where = np.ix_(indices, [columns[name] for name in group_names])
            for target, values in zip(filled, arrays, strict=True):
                if values is not None and values.shape[1] == len(group_names):
                    target[where] = values
            if arrays[0] is not None and arrays[0].shape[1] == len(group_names):
                present[where] = True
        positions, velocities, efforts = filled
        return JointTable(names, positions, velocities, efforts, present, _layouts(groups))

    def _split(
        self, layout: _Layout, indices: list[int], parts: list[bytes], stack: Any
    ) -> list[tuple[tuple[str, ...], list[int], list[Values | None]]]:
        """Decode messages of one layout; those whose later counts differ go one by one."""
        same = np.ones(len(parts), bool)
        for offset, count in layout.counts[1:]:
            same &= stack[:, offset : offset + 4].copy().view('<u4')[:, 0] == count
        for i in np.flatnonzero(~same):
            self._rows.append((indices[i], self._row(self._decoder.decode(parts[i]))))
        stack, kept = stack[same], np.asarray(indices)[same]
        arrays: list[Values | None] = []
        for (_, count), start in zip(layout.counts, layout.starts, strict=True):
            values = stack[:, start : start + 8 * count].copy().view('<f8') if count else None
            arrays.append(values)
        return [(layout.names, kept.tolist(), arrays)] if len(kept) else []

    def faults(self, wanted: Sequence[str]) -> list[tuple[int, str, str]]:
        """Return (message index, joint, what is wrong) of messages with unusable names."""
        found = []
        for layout, (indices, _) in self._alike.items():
            found += [
                (i, *fault)
                for i in indices
                for fault in _name_faults(layout.names, layout.counts[0][1], wanted)
            ]
        for index, (names, positions, _, _) in self._rows:
            found += [(index, *fault) for fault in _name_faults(names, len(positions), wanted)]
        return found


def _name_faults(
    names: tuple[str, ...], count: int, wanted: Sequence[str]
) -> list[tuple[str, str]]:
    if count and count != len(names):
        return [('', f'{len(names)} joint names but {count} positions')]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        return [(twice, f"joint '{twice}' is repeated in one message")]
    return []


def _layouts(groups: Sequence[tuple[tuple[str, ...], list[int], Any]]) -> Any:
    """Return (first message, names) of each stretch of messages with the same names in order."""
    if not groups:
        return ()
    starts = np.concatenate([np.asarray(indices) for _, indices, _ in groups])
    which = np.concatenate([np.full(len(indices), k) for k, (_, indices, _) in enumerate(groups)])
    order = np.argsort(starts, kind='stable')
    numbers = {names: k for k, names in enumerate(dict.fromkeys(names for names, _, _ in groups))}
    ids = np.asarray([numbers[names] for names, _, _ in groups])[which[order]]
    changes = np.flatnonzero(np.diff(ids, prepend=-1))
    names = list(numbers)
    return tuple((int(starts[order[i]]), names[ids[i]]) for i in changes)


def _one(values: Any) -> Values | None:
    return np.asarray(values, np.float64).reshape(1, -1) if len(values) else None


def _layout(data: Buffer) -> _Layout | None:
    """Read a JointState's layout; None where it is not plain little-endian CDR."""
    if bytes(data[:2]) != _LITTLE_ENDIAN:
        return None
    try:
        at = _STAMP_END
        at += 4 + _WORD.unpack_from(data, at)[0]
        at = _align(at, 4)
        count = _WORD.unpack_from(data, at)[0]
        at += 4
        names = []
        for _ in range(count):
            at = _align(at, 4)
            length = _WORD.unpack_from(data, at)[0]
            names.append(str(data[at + 4 : at + 3 + length], 'utf-8'))
            at += 4 + length
        counts, starts = [], []
        for _ in range(3):
            at = _align(at, 4)
            length = _WORD.unpack_from(data, at)[0]
            counts.append((at, length))
            at += 4
            if length:
                at = _align(at, 8)
            starts.append(at)
            at += 8 * length
    except (struct.error, UnicodeDecodeError):
        return None
    if not at <= len(data) <= at + MAX_PADDING:
        return None
    key = bytes(data[_STAMP_END : counts[0][0] + 4])
    return _Layout(len(data), key, tuple(names), tuple(counts), (starts[0], starts[1], starts[2]))


def _align(at: int, size: int) -> int:
    return at + (_BODY - at) % size


def _row_reader(decoder: Decoder, array_names: tuple[str, ...]) -> Callable[[Any], Row]:
    if {'name', 'position'} <= set(decoder.fields):
        return lambda message: (
            tuple(message.name),
            message.position,
            getattr(message, 'velocity', ()),
            getattr(message, 'effort', ()),
        )
    if {'joint_names', 'points'} <= set(decoder.fields):
        return _trajectory
    if 'data' in decoder.fields and 'layout' in decoder.fields:

        def array(message: Any) -> Row:
            if len(message.data) != len(array_names):
                raise DecodeError(
                    f"{decoder.topic}: expected {len(array_names)} values (the rig's "
                    f'joints in their order), found {len(message.data)}'
                )
            return array_names, message.data, (), ()

        return array
    raise DecodeError(
        f'{decoder.topic}: expected a type that carries joints (JointState, '
        f'JointTrajectory, Float64MultiArray), found {decoder.type}'
    )


def _trajectory(message: Any) -> Row:
    if not message.points:
        return tuple(message.joint_names), (), (), ()
    point = message.points[0]
    return tuple(message.joint_names), point.positions, point.velocities, point.effort

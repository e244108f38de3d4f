# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Read a bag once and turn the streams that the rig declares into arrays."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
import json
from typing import Any

import numpy as np

from curation.align.episode import Facts
from curation.align.frames import FrameSource
from curation.align.interventions import collect
from curation.align.joints import JointRows
from curation.align.series import Fault, NO_TIME, Recording, Series, Table
from curation.align.values import Row, value_reader, VALUE_ROLES
from curation.bag.decoder import Decoder, full_type
from curation.bag.model import Buffer, Message, Problem
from curation.bag.reader import BagReader
from curation.exceptions import BagError, DecodeError, StreamError
from teleop_bridge.rig.schema import Rig, Role, Stamp, Stream

JOINT_ROLES = (
    Role.STATE,
    Role.ACTION,
    Role.LEADER,
    Role.HUMAN_PROPOSAL,
    Role.POLICY_PROPOSAL,
    Role.LOAD,
)
IMAGE_ROLES = (Role.CAMERA, Role.DEPTH)
_LEFT_OUT = (Role.OTHER, Role.EPISODE)


def find_topic(bag: BagReader, stream: Stream) -> str | None:
    """Return the bag's name of a stream's topic; None where the bag has none such.

    Raises StreamError where it is there with another type than declared.
    """
    wanted = stream.topic.lstrip('/')
    for name, topic in bag.topics.items():
        if name.lstrip('/') == wanted:
            if full_type(topic.type) != stream.type:
                raise StreamError(
                    f"{bag.path}: stream '{stream.name}': expected {stream.type} on "
                    f'{name}, found {topic.type}'
                )
            return name
    return None


def extract(bag: BagReader, rig: Rig) -> Recording:
    """Return the rig's streams in a bag as arrays.

    Raises StreamError where a required stream has another type or can't be decoded; what an
    optional stream loses is among the problems.
    """
    collectors: dict[str, list[_Collector]] = {}
    missing, problems = [], []
    for stream in rig.streams:
        if stream.role in _LEFT_OUT:
            continue
        topic = find_topic(bag, stream)
        if topic is None:
            missing.append(stream)
            continue
        try:
            collector = _Collector(stream, bag.decoder(topic), rig)
        except DecodeError as error:
            if stream.required:
                raise StreamError(f"required stream '{stream.name}': {error}") from error
            problems.append(Problem(f"stream '{stream.name}' is lost: {error}", (topic,)))
            continue
        collectors.setdefault(topic, []).append(collector)
    for message in bag.messages(collectors):
        for collector in collectors[message.topic]:
            collector.add(message)
    series, events = {}, []
    for collector in (one for several in collectors.values() for one in several):
        problems += collector.problems
        if not len(collector):
            missing.append(collector.stream)
            continue
        series[collector.stream.name] = collector.series()
        events += collector.events
    return Recording(
        id=bag.content_id,
        name=bag.name,
        path=str(bag.path),
        rig=rig,
        facts=read_facts(bag.custom_data, str(bag.path)),
        series=series,
        missing=tuple(missing),
        interventions=collect(sorted(events, key=lambda event: event[0])),
        problems=(*bag.problems, *problems),
        frames={
            name: FrameSource(bag.path, one)
            for name, one in series.items()
            if one.stream.role in IMAGE_ROLES
        },
    )


def read_facts(custom_data: Mapping[str, str], where: str) -> Facts:
    """Return the session's and episode's facts; BagError where they are not JSON mappings."""
    found = {}
    for key in ('session', 'episode'):
        try:
            value = json.loads(custom_data.get(key) or '{}')
        except ValueError as error:
            raise BagError(
                f"{where}: expected '{key}' in custom_data as JSON ({error})"
            ) from error
        if not isinstance(value, dict):
            raise BagError(
                f"{where}: expected '{key}' in custom_data as a mapping, found {value!r}"
            )
        found[key] = value
    return Facts(**found)


class _Collector:
    """Takes one stream's messages as they are read."""

    def __init__(self, stream: Stream, decoder: Decoder, rig: Rig) -> None:
        self.stream = stream
        self.problems: list[Problem] = []
        self.events: list[tuple[int, Any]] = []
        self._decoder = decoder
        self._rig = rig
        self._times = {kind: array('q') for kind in ('header', 'publish', 'log', 'stamp', 'size')}
        self._refs = array('q')
        self._joints: JointRows | None = None
        self._read: Callable[[Any], Row] | None = None
        self._names: tuple[str, ...] = ()
        self._rows: list[tuple[float, ...]] = []
        self._texts: list[str] = []
        if stream.role in JOINT_ROLES:
            self._joints = JointRows(decoder, rig.joint_names)
        elif stream.role in VALUE_ROLES:
            self._names, self._read = value_reader(decoder, stream.role)
        if stream.stamp is Stamp.HEADER and not decoder.has_header:
            raise DecodeError(
                f'{decoder.topic}: {decoder.type} in this bag has no header: declare '
                "the stream's stamp as publish or receive"
            )

    def __len__(self) -> int:
        return len(self._times['stamp'])

    def add(self, message: Message) -> None:
        try:
            header, stamp = self._stamp(message)
            self._take(message.data, stamp)
        except DecodeError as error:
            text = f"stream '{self.stream.name}': {error}"
            if self.stream.required:
                raise StreamError(text) from error
            self.problems.append(Problem(text, (message.topic,), message.log_ns, message.log_ns))
            return
        self._times['header'].append(header)
        self._times['stamp'].append(stamp)
        self._times['log'].append(message.log_ns)
        self._times['publish'].append(
            NO_TIME if message.publish_ns is None else message.publish_ns
        )
        self._times['size'].append(len(message.data))
        self._refs.extend(message.ref)

    def series(self) -> Series:
        arrays = {
            kind: np.frombuffer(times, np.int64) if len(times) else np.zeros(0, np.int64)
            for kind, times in self._times.items()
        }
        result = Series(
            self.stream,
            self._decoder.topic,
            arrays['stamp'],
            arrays['header'],
            arrays['publish'],
            arrays['log'],
            np.frombuffer(self._refs, np.int64).reshape(-1, 4),
            arrays['size'],
        )
        if self._joints is not None:
            table = self._joints.table()
            faults = self._faults(arrays['stamp'])
            return replace(result, joints=table, faults=faults)
        if self._read is not None:
            table_ = Table(self._names, np.array(self._rows, np.float64), tuple(self._texts))
            return replace(result, table=table_)
        return result

    def _take(self, data: Buffer, stamp: int) -> None:
        if self._joints is not None:
            self._joints.add(data)
        elif self._read is not None:
            values, text = self._read(self._decoder.decode(data))
            self._rows.append(values)
            self._texts.append(text)
        elif self.stream.role is Role.INTERVENTION:
            self.events.append((stamp, self._decoder.decode(data)))

    def _stamp(self, message: Message) -> tuple[int, int]:
        header = NO_TIME
        if self._decoder.has_header:
            header = self._decoder.stamp_ns(message.data)
        if self.stream.stamp is Stamp.HEADER:
            stamp = header
        elif self.stream.stamp is Stamp.PUBLISH:
            if message.publish_ns is None:
                raise DecodeError(
                    f'{message.topic}: this bag has no publish times: declare the '
                    "stream's stamp as header or receive"
                )
            stamp = message.publish_ns
        else:
            stamp = message.log_ns
        return header, stamp

    def _faults(self, stamps: Any) -> tuple[Fault, ...]:
        assert self._joints is not None
        return tuple(
            Fault(i, int(stamps[i]), text, joint)
            for i, joint, text in sorted(self._joints.faults(self._rig.joint_names))
        )

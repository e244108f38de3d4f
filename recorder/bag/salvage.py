# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Rebuilds a bag that a crash or power cut left unfinished, as a copy beside the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from mcap.records import Channel

from recorder.bag.mcap_reader import bag_file
from recorder.bag.metadata import qos_from_yaml, read_custom_data, RECORD_KEY, RECORD_NAME
from recorder.bag.scan import Scan
from recorder.bag.topic import TopicInfo
from recorder.bag.writer import open_bag
from recorder.exceptions import BagCorruptError


@dataclass(frozen=True)
class Salvaged:
    """What was brought over; times in ns."""

    path: Path
    counts: Mapping[str, int]  # messages per topic
    lost: Mapping[str, int]  # per topic, by the writer's sequence numbers
    custom_data: Mapping[str, str]
    first_ns: int = 0
    last_ns: int = 0
    lost_bytes: int = 0  # at the end of the file, in a record that was cut off
    damaged_chunks: int = 0


@dataclass
class _Topic:
    name: str
    count: int = 0
    lost: int = 0
    next_sequence: int = 0


def salvage(
    bag: Path, target: Path, *, describe: Callable[[Salvaged], Mapping[str, str]] | None = None
) -> Salvaged:
    """Copy every readable message of a bag's only MCAP file into a new bag at ``target``.

    ``describe`` returns custom_data for the new bag, from what was found. Raises BagCorruptError
    where there is nothing to save, BagExistsError.
    """
    scan = Scan(bag_file(bag))
    messages = scan.messages()
    first = next(messages, None)
    if first is None:
        raise BagCorruptError(f'{scan.path}: expected messages, found none that can be read')
    custom_data = _facts(scan)
    writer = open_bag(target, custom_data=custom_data, storage='mcap')
    topics: dict[int, _Topic] = {}
    first_ns = last_ns = first.log_ns
    orphans = 0
    for message in chain([first], messages):
        topic = topics.get(message.channel)
        if topic is None and message.channel in scan.channels:
            channel = scan.channels[message.channel]
            writer.add_topic(_topic_info(scan, channel))
            topic = topics[message.channel] = _Topic(channel.topic, next_sequence=message.sequence)
        if topic is None:
            orphans += 1  # its channel's record is damaged
        else:
            writer.write(topic.name, message.data, message.log_ns, message.publish_ns)
            topic.count += 1
            topic.lost += max(message.sequence - topic.next_sequence, 0)
            topic.next_sequence = message.sequence + 1
            first_ns, last_ns = min(first_ns, message.log_ns), max(last_ns, message.log_ns)
    found = Salvaged(
        target,
        {topic.name: topic.count for topic in topics.values()},
        {topic.name: topic.lost for topic in topics.values() if topic.lost},
        custom_data,
        first_ns,
        last_ns,
        scan.lost_bytes,
        scan.damaged_chunks + bool(orphans),
    )
    writer.close(describe(found) if describe else None)
    return found


def _facts(scan: Scan) -> dict[str, str]:
    facts: dict[str, str] = {}
    for record in scan.metadata:
        if record.name == RECORD_NAME and RECORD_KEY in record.metadata:
            facts.update(read_custom_data(record.metadata[RECORD_KEY], str(scan.path)))
    return facts


def _topic_info(scan: Scan, channel: Channel) -> TopicInfo:
    schema = scan.schemas.get(channel.schema_id)
    return TopicInfo(
        name=channel.topic,
        type=schema.name if schema else '',
        schema_text=schema.data.decode(errors='replace') if schema else '',
        qos=qos_from_yaml(channel.metadata.get('offered_qos_profiles', '')),
        type_hash=channel.metadata.get('topic_type_hash', ''),
    )

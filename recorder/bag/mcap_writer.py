# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Writes bags in rosbag2's layout, NAME/metadata.yaml and NAME/NAME_0.mcap, without rosbag2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from recorder.bag.files import make_folder, sync_folder
from recorder.bag.mcap_file import Lane, McapFile
from recorder.bag.metadata import BagMetadata, qos_yaml, RECORD_NAME
from recorder.bag.topic import TopicInfo
from recorder.exceptions import TopicError
from teleop_bridge.rig.schema import Storage

BULK_BYTES = 16_384  # a message of this size goes to the chunks of bulk data
SMALL_CHUNK = 131_072
BULK_CHUNK = 4_194_304


@dataclass(frozen=True)
class _Channel:
    info: TopicInfo
    id: int
    small: Lane
    bulk: Lane


class McapWriter:
    """A BagWriter on an McapFile; joints and images lie in chunks of their own."""

    def __init__(self, path: Path, *, custom_data: Mapping[str, str]) -> None:
        """Make the folder and begin the file with a metadata record that has ``custom_data``."""
        self.path = path
        self._custom_data = dict(custom_data)
        self._channels: dict[str, _Channel] = {}
        self._schemas: dict[str, int] = {}
        make_folder(path)
        self._file = McapFile(path / f'{path.name}_0.mcap')
        self._small = self._file.lane(Lane(limit=SMALL_CHUNK))
        self._bulk = self._file.lane(Lane(limit=BULK_CHUNK))
        self._compressed = self._file.lane(Lane(limit=BULK_CHUNK, compress=True))
        self._file.add_metadata(RECORD_NAME, self._metadata().record())
        self._file.sync()
        sync_folder(path)

    def add_topic(self, topic: TopicInfo) -> None:
        """Declare a topic; TopicError where the name is there already with another type."""
        known = self._channels.get(topic.name)
        if known is not None:
            if known.info.type != topic.type:
                raise TopicError(
                    f'{self.path}: topic {topic.name} is {known.info.type} in this bag,'
                    f' found it as {topic.type}'
                )
            return
        schema = self._schemas.get(topic.type)
        if schema is None:
            schema = self._file.add_schema(topic.type, topic.schema_text)
            self._schemas[topic.type] = schema
        metadata = {'offered_qos_profiles': qos_yaml(topic), 'topic_type_hash': topic.type_hash}
        channel = self._file.add_channel(topic.name, schema, metadata)
        lanes = (self._small, self._bulk)
        if topic.storage is Storage.CHUNK:
            lanes = (self._compressed, self._compressed)
        self._channels[topic.name] = _Channel(topic, channel, *lanes)

    def write(self, topic: str, data: bytes, log_time_ns: int, publish_time_ns: int) -> None:
        """Write one message's CDR bytes."""
        try:
            channel = self._channels[topic]
        except KeyError:
            raise TopicError(f'{self.path}: topic {topic} was never declared') from None
        lane = channel.small if len(data) < BULK_BYTES else channel.bulk
        self._file.write(lane, channel.id, log_time_ns, publish_time_ns, data)

    def sync(self) -> None:
        """Put everything written so far onto the disk."""
        self._file.sync()

    def counts(self) -> Mapping[str, int]:
        """Return the messages per topic that the file has so far."""
        return {name: self._file.count(entry.id) for name, entry in self._channels.items()}

    def close(self, custom_data: Mapping[str, str] | None = None) -> None:
        """Finish the MCAP with the final metadata record, then write metadata.yaml."""
        self._custom_data.update(custom_data or {})
        try:
            self._file.flush()
            metadata = self._metadata()
            self._file.add_metadata(RECORD_NAME, metadata.record())
            self._file.close()
        finally:
            self._file.abandon()
        metadata.write(self.path)

    def _metadata(self) -> BagMetadata:
        topics = tuple(
            (channel.info, self._file.count(channel.id)) for channel in self._channels.values()
        )
        return BagMetadata(
            file=self._file.path.name,
            topics=topics,
            start_ns=self._file.start_ns,
            end_ns=self._file.end_ns,
            custom_data=self._custom_data,
        )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""rosbag2's metadata, version 9: metadata.yaml and the record of the same text in the MCAP."""

from __future__ import annotations

from dataclasses import dataclass, field
import os
from pathlib import Path
from typing import Any

import yaml

from recorder.bag.files import replace_text
from recorder.bag.topic import INFINITE_NS, Qos, TopicInfo
from recorder.exceptions import BagCorruptError

FILE_NAME = 'metadata.yaml'
RECORD_NAME = 'rosbag2'  # of the MCAP metadata record
RECORD_KEY = 'serialized_metadata'
ROOT_KEY = 'rosbag2_bagfile_information'
VERSION = 9


@dataclass(frozen=True)
class BagMetadata:
    """What metadata.yaml says of a bag; times in ns, None in a bag without messages."""

    file: str
    topics: tuple[tuple[TopicInfo, int], ...] = ()  # with message counts
    start_ns: int | None = None
    end_ns: int | None = None
    custom_data: dict[str, str] = field(default_factory=dict)
    storage: str = 'mcap'

    @property
    def message_count(self) -> int:
        """Return the number of messages on all topics."""
        return sum(count for _, count in self.topics)

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping that rosbag2 writes, keys in its order."""
        start = {
            'nanoseconds_since_epoch': INFINITE_NS if self.start_ns is None else self.start_ns
        }
        duration = {'nanoseconds': 0}
        if self.start_ns is not None and self.end_ns is not None:
            duration = {'nanoseconds': self.end_ns - self.start_ns}
        return {
            'version': VERSION,
            'storage_identifier': self.storage,
            'duration': duration,
            'starting_time': start,
            'message_count': self.message_count,
            'topics_with_message_count': [_topic(info, count) for info, count in self.topics],
            'compression_format': '',
            'compression_mode': '',
            'relative_file_paths': [self.file],
            'files': [
                {
                    'path': self.file,
                    'starting_time': dict(start),
                    'duration': dict(duration),
                    'message_count': self.message_count,
                }
            ],
            'custom_data': dict(self.custom_data) or None,
            'ros_distro': os.environ.get('ROS_DISTRO') or 'jazzy',
        }

    def record(self) -> dict[str, str]:
        """Return the entries of the MCAP metadata record named ``rosbag2``."""
        return {RECORD_KEY: to_yaml(self.as_dict())}

    def write(self, folder: Path) -> None:
        """Write metadata.yaml into the bag's folder, whole or not at all."""
        replace_text(folder / FILE_NAME, to_yaml({ROOT_KEY: self.as_dict()}))


def _topic(info: TopicInfo, count: int) -> dict[str, Any]:
    return {
        'topic_metadata': {
            'name': info.name,
            'type': info.type,
            'serialization_format': 'cdr',
            'offered_qos_profiles': [qos.as_dict() for qos in info.qos],
            'type_description_hash': info.type_hash,
        },
        'message_count': count,
    }


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, so that the rig file stays readable in the bag."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(
        'tag:yaml.org,2002:str', text, style='|' if '\n' in text else None
    )


_Dumper.add_representer(str, _text)


def to_yaml(value: Any) -> str:
    """Return a value as YAML text, keys in their own order."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


def qos_yaml(info: TopicInfo) -> str:
    """Return the channel metadata ``offered_qos_profiles`` as rosbag2 writes it."""
    return to_yaml([qos.as_dict() for qos in info.qos]).rstrip('\n')


def qos_from_yaml(text: str) -> tuple[Qos, ...]:
    """Return the QoS of ``offered_qos_profiles`` as rosbag2 9 writes them; empty if unreadable."""
    try:
        return tuple(Qos.from_dict(entry) for entry in yaml.safe_load(text) or ())
    except (yaml.YAMLError, KeyError, TypeError, AttributeError):
        return ()


def read_custom_data(text: str, where: str) -> dict[str, str]:
    """Return ``custom_data`` from the text of metadata.yaml or of the MCAP's record.

    Raises BagCorruptError where the text is not rosbag2's metadata.
    """
    try:
        value = yaml.load(text, Loader=getattr(yaml, 'CSafeLoader', yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise BagCorruptError(f'{where}: expected YAML, found {error}') from error
    if isinstance(value, dict):
        value = value.get(ROOT_KEY, value)
    if not isinstance(value, dict) or 'version' not in value:
        raise BagCorruptError(f'{where}: expected rosbag2 metadata, found no {ROOT_KEY}')
    return {str(key): str(item) for key, item in (value.get('custom_data') or {}).items()}


def add_custom_data(folder: Path, custom_data: dict[str, str]) -> None:
    """Add entries to the custom_data of an existing metadata.yaml."""
    path = folder / FILE_NAME
    value = yaml.safe_load(path.read_text(encoding='utf-8'))
    info = value[ROOT_KEY]
    info['custom_data'] = {**(info.get('custom_data') or {}), **custom_data}
    replace_text(path, to_yaml(value))

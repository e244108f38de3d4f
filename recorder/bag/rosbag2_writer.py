# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Writes bags through rosbag2_py, which a ROS installation has and PyPI has not."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
from typing import Any

from recorder.bag.files import sync_folder, write_error
from recorder.bag.metadata import add_custom_data
from recorder.bag.topic import Qos, TopicInfo
from recorder.exceptions import BagExistsError, BagWriteError, TopicError
from teleop_bridge.exceptions import MissingDependencyError

try:
    import rosbag2_py
    from rosbag2_py._storage import QoS  # which Jazzy exports nowhere else
except ImportError as error:
    raise MissingDependencyError(
        'writing bags through rosbag2 needs rosbag2_py, which comes with '
        'ROS 2 (apt install ros-jazzy-rosbag2-py), not from pip'
    ) from error


class Rosbag2Writer:
    """A BagWriter on rosbag2_py's SequentialWriter (Jazzy's or later), storage mcap, unchunked.

    Its preset ``fastwrite`` hands every message to the C library at once, so that a killed
    recorder loses a few kilobytes. What is known only at the end goes into metadata.yaml alone.
    """

    def __init__(self, path: Path, *, custom_data: Mapping[str, str]) -> None:
        """Open a new bag; BagExistsError where the folder is there."""
        self.path = path
        self._types: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        if path.exists():
            raise BagExistsError(f'{path}: expected a new folder, found one that exists')
        options = rosbag2_py.StorageOptions(
            uri=str(path),
            storage_id='mcap',
            storage_preset_profile='fastwrite',
            custom_data=dict(custom_data),
        )
        self._writer: Any = rosbag2_py.SequentialWriter()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer.open(options, rosbag2_py.ConverterOptions('', ''))
        except (OSError, RuntimeError) as error:
            raise BagWriteError(f'{path}: could not open a bag there, {error}') from error

    def add_topic(self, topic: TopicInfo) -> None:
        """Declare a topic; TopicError where the name is there already with another type."""
        known = self._types.setdefault(topic.name, topic.type)
        if known != topic.type:
            raise TopicError(
                f'{self.path}: topic {topic.name} is {known} in this bag, found it as {topic.type}'
            )
        self._writer.create_topic(
            rosbag2_py.TopicMetadata(
                id=0,
                name=topic.name,
                type=topic.type,
                serialization_format='cdr',
                offered_qos_profiles=[_profile(qos) for qos in topic.qos],
                type_description_hash=topic.type_hash,
            )
        )

    def write(self, topic: str, data: bytes, log_time_ns: int, publish_time_ns: int) -> None:
        """Write one message's CDR bytes."""
        if topic not in self._types:
            raise TopicError(f'{self.path}: topic {topic} was never declared')
        try:
            self._writer.write(topic, data, log_time_ns, publish_time_ns)
            self._counts[topic] = self._counts.get(topic, 0) + 1
        except RuntimeError as error:
            raise BagWriteError(f'{self.path}: could not write, {error}') from error

    def sync(self) -> None:
        """Wait until the disk has what rosbag2 handed to the system."""
        for path in self.path.glob('*.mcap'):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fdatasync(descriptor)
            except OSError as error:
                raise write_error(path, error) from error
            finally:
                os.close(descriptor)

    def counts(self) -> Mapping[str, int]:
        """Return the messages per topic that were handed to rosbag2."""
        return dict(self._counts)

    def close(self, custom_data: Mapping[str, str] | None = None) -> None:
        """Finish the bag and add to metadata.yaml what is only known now."""
        self._writer.close()
        self.sync()
        if custom_data:
            add_custom_data(self.path, dict(custom_data))
        sync_folder(self.path)


def _profile(qos: Qos) -> Any:
    profile = QoS(max(qos.depth, 1))
    (profile.best_effort if qos.reliability == 'best_effort' else profile.reliable)()
    (
        profile.transient_local
        if qos.durability == 'transient_local'
        else profile.durability_volatile
    )()
    return profile

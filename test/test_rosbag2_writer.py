# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The rosbag2_py adapter, on a stand-in with the names and signatures of Jazzy's (0.26)."""

from __future__ import annotations

from collections.abc import Iterator
import importlib
from pathlib import Path
import sys
from types import ModuleType

from mcap.writer import CompressionType, Writer
import pytest
import yaml

from recorder.bag.mcap_reader import bag_file, read_facts, read_messages
from recorder.bag.topic import LATCHED_QOS
from recorder.bag.writer import default_storage, open_bag
from recorder.exceptions import BagExistsError, TopicError
from support.bags import joint_state, START_NS, topic

DECLARED: dict[str, TopicMetadata] = {}


class QoS:
    """As of rosbag2_py._storage: its methods return itself."""

    def __init__(self, history_depth: int) -> None:
        self.said = [history_depth]

    def best_effort(self) -> QoS:
        return self._say('best_effort')

    def reliable(self) -> QoS:
        return self._say('reliable')

    def transient_local(self) -> QoS:
        return self._say('transient_local')

    def durability_volatile(self) -> QoS:
        return self._say('volatile')

    def _say(self, word: str) -> QoS:
        self.said.append(word)
        return self


class TopicMetadata:
    def __init__(
        self,
        id: int,  # noqa: A002
        name: str,
        type: str,  # noqa: A002
        serialization_format: str,
        offered_qos_profiles: list[QoS] = [],  # noqa: B006
        type_description_hash: str = '',
    ) -> None:
        self.name, self.type, self.qos = name, type, offered_qos_profiles
        assert serialization_format == 'cdr'


class StorageOptions:
    def __init__(
        self,
        uri: str,
        storage_id: str = '',
        max_bagfile_size: int = 0,
        max_bagfile_duration: int = 0,
        max_cache_size: int = 0,
        storage_preset_profile: str = '',
        storage_config_uri: str = '',
        snapshot_mode: bool = False,
        start_time_ns: int = -1,
        end_time_ns: int = -1,
        custom_data: dict[str, str] = {},  # noqa: B006
    ) -> None:
        self.uri, self.custom_data = uri, custom_data
        assert (storage_id, storage_preset_profile) == ('mcap', 'fastwrite')


class ConverterOptions:
    def __init__(
        self, input_serialization_format: str = '', output_serialization_format: str = ''
    ) -> None:
        pass


class SequentialWriter:
    def open(self, storage: StorageOptions, converter: ConverterOptions) -> None:
        folder = Path(storage.uri)
        folder.mkdir()
        (folder / 'metadata.yaml').write_text('rosbag2_bagfile_information: {version: 9}\n')
        self._file = open(folder / f'{folder.name}_0.mcap', 'wb')  # noqa: SIM115
        self._writer = Writer(self._file, compression=CompressionType.NONE, use_chunking=False)
        self._writer.start('ros2')
        metadata = yaml.safe_dump({'version': 9, 'custom_data': storage.custom_data})
        self._writer.add_metadata('rosbag2', {'serialized_metadata': metadata})
        self._channels: dict[str, int] = {}

    def create_topic(self, metadata: TopicMetadata) -> None:
        DECLARED[metadata.name] = metadata
        schema = self._writer.register_schema(metadata.type, 'ros2msg', b'')
        self._channels[metadata.name] = self._writer.register_channel(metadata.name, 'cdr', schema)

    def write(self, topic: str, data: bytes, received_ns: int, sent_ns: int) -> None:
        self._writer.add_message(self._channels[topic], received_ns, data, sent_ns)

    def close(self) -> None:
        self._writer.finish()
        self._file.close()


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    package, storage = ModuleType('rosbag2_py'), ModuleType('rosbag2_py._storage')
    for thing in (SequentialWriter, StorageOptions, ConverterOptions, TopicMetadata):
        setattr(package, thing.__name__, thing)
    storage.QoS = QoS  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, 'rosbag2_py', package)
    monkeypatch.setitem(sys.modules, 'rosbag2_py._storage', storage)
    monkeypatch.delitem(sys.modules, 'recorder.bag.rosbag2_writer', raising=False)
    yield
    sys.modules.pop('recorder.bag.rosbag2_writer', None)


def test_messages_facts_times_and_qos_are_handed_over(tmp_path: Path) -> None:
    writer = open_bag(tmp_path / 'bag', custom_data={'rig': 'rig: x'}, storage='rosbag2')
    writer.add_topic(topic('/joints', 'sensor_msgs/msg/JointState', qos=(LATCHED_QOS,)))
    data = joint_state(START_NS, (1.0, 2.0))
    writer.write('/joints', data, START_NS + 5, START_NS + 3)
    writer.sync()
    assert writer.counts() == {'/joints': 1}
    with pytest.raises(TopicError, match='/other was never declared'):
        writer.write('/other', data, 0, 0)
    with pytest.raises(TopicError, match='is sensor_msgs/msg/JointState in this bag'):
        writer.add_topic(topic('/joints', 'std_msgs/msg/String'))
    writer.close({'episode': '{"grade": "partial"}'})
    (message,) = read_messages(bag_file(tmp_path / 'bag'))
    assert (message.data, message.log_ns, message.publish_ns) == (data, START_NS + 5, START_NS + 3)
    assert DECLARED['/joints'].qos[0].said == [1, 'reliable', 'transient_local']
    assert read_facts(bag_file(tmp_path / 'bag'))['rig'] == 'rig: x'
    assert 'partial' in (tmp_path / 'bag/metadata.yaml').read_text()
    with pytest.raises(BagExistsError):
        open_bag(tmp_path / 'bag', custom_data={}, storage='rosbag2')


def test_our_own_writer_is_the_default_where_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(sys.modules['rosbag2_py'], '__spec__', object())
    assert default_storage() == 'mcap'
    monkeypatch.setattr(
        importlib.util, 'find_spec', lambda name: None if name == 'mcap' else found(name)
    )
    assert default_storage() == 'rosbag2'

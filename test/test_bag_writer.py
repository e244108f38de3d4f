# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A written bag is what rosbag2 would have written, and reads back byte for byte."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from mcap.exceptions import EndOfFile
from mcap.reader import make_reader
from mcap.records import Message
from mcap.stream_reader import StreamReader
import pytest
from rosbags.highlevel import AnyReader
import yaml

from recorder.bag import mcap_file
from recorder.bag.definitions import definition, type_hash
from recorder.bag.mcap_reader import bag_file, read_facts, read_messages
from recorder.bag.topic import LATCHED_QOS
from recorder.bag.writer import open_bag
from recorder.exceptions import BagCorruptError, BagExistsError, BagWriteError, TopicError
from support.bags import joint_state, START_NS, STEP_NS, topic, write_bag
from support.storages import STORAGES
from teleop_bridge.rig.schema import Storage


@pytest.mark.parametrize('storage', STORAGES)
def test_messages_come_back_in_time_order_with_both_times(tmp_path: Path, storage: str) -> None:
    write_bag(tmp_path / 'bag', messages=40, storage=storage)
    messages = list(read_messages(bag_file(tmp_path / 'bag')))
    assert [m.log_ns for m in messages] == sorted(m.log_ns for m in messages)
    joints = [m for m in messages if m.topic == '/joint_states']
    assert len(joints) == 40 and len(messages) == 50
    stamp = START_NS + 7 * STEP_NS
    assert joints[7].data == joint_state(stamp, (0.07, -0.07))
    assert (joints[7].log_ns, joints[7].publish_ns) == (stamp + 900_000, stamp + 400_000)


@pytest.mark.parametrize('storage', STORAGES)
def test_another_library_reads_the_folder(tmp_path: Path, storage: str) -> None:
    write_bag(tmp_path / 'bag', storage=storage)
    with AnyReader([tmp_path / 'bag']) as reader:
        names = {c.topic: (c.msgtype, c.msgcount) for c in reader.connections}
        assert names == {
            '/joint_states': ('sensor_msgs/msg/JointState', 100),
            '/image': ('std_msgs/msg/String', 25),
        }
        connection = next(c for c in reader.connections if c.topic == '/joint_states')
        _, _, data = next(reader.messages([connection]))
        assert list(reader.deserialize(data, connection.msgtype).name) == ['shoulder', 'elbow']


@pytest.mark.parametrize('storage', STORAGES)
def test_facts_are_in_the_file_from_its_first_bytes_and_in_metadata(
    tmp_path: Path, storage: str
) -> None:
    rig = 'rig:\n  name: so101   # comment\n\n  text: "ü"\n'
    write_bag(tmp_path / 'bag', storage=storage, rig=rig)
    path = bag_file(tmp_path / 'bag')
    assert rig.splitlines()[1].strip() in path.read_bytes()[:2000].decode(errors='replace')
    info = yaml.safe_load((tmp_path / 'bag/metadata.yaml').read_text())
    info = info['rosbag2_bagfile_information']
    assert info['custom_data'] == {'rig': rig, 'episode': '{"grade": "partial"}'}
    assert read_facts(path)['rig'] == rig
    assert info['version'] == 9
    assert info['message_count'] == 125
    assert info['starting_time']['nanoseconds_since_epoch'] == START_NS + 900_000
    assert info['duration']['nanoseconds'] == 99 * STEP_NS
    assert info['relative_file_paths'] == ['bag_0.mcap']


def test_layout_matches_a_bag_of_ros2_bag_record(tmp_path: Path) -> None:
    real = Path(__file__).parents[1] / '../shared/corpus/recorded/plain'
    if not real.is_dir():
        pytest.skip('../shared/corpus is absent: nothing to compare the layout with')
    write_bag(tmp_path / 'bag')

    def keys(value: object) -> object:
        if isinstance(value, dict):
            return {key: keys(item) for key, item in value.items()}
        return [keys(value[0])] if isinstance(value, list) and value else None

    ours, theirs = (
        yaml.safe_load((folder / 'metadata.yaml').read_text())
        for folder in (tmp_path / 'bag', real)
    )
    theirs['rosbag2_bagfile_information']['custom_data'] = {'episode': None}
    assert keys(ours) == keys(theirs)
    with open(bag_file(real), 'rb') as file:
        summary = make_reader(file).get_summary()
    with open(bag_file(tmp_path / 'bag'), 'rb') as file:
        own = make_reader(file).get_summary()
    channels = {c.topic: c for c in summary.channels.values()}
    for channel in own.channels.values():
        if channel.topic == '/joint_states':
            twin = channels['/follower/joint_states']
            assert channel.metadata['topic_type_hash'] == twin.metadata['topic_type_hash']
            offered = [yaml.safe_load(c.metadata['offered_qos_profiles']) for c in (channel, twin)]
            assert list(offered[0][0]) == list(offered[1][0])
            assert channel.message_encoding == twin.message_encoding == 'cdr'


def test_small_messages_lie_in_chunks_of_their_own(tmp_path: Path) -> None:
    write_bag(tmp_path / 'bag')
    with open(bag_file(tmp_path / 'bag'), 'rb') as file:
        summary = make_reader(file).get_summary()
    for index in summary.chunk_indexes:
        assert len(index.message_index_offsets) == 1


def test_chunk_storage_is_compressed_and_comes_back(tmp_path: Path) -> None:
    writer = open_bag(tmp_path / 'bag', custom_data={}, storage='mcap')
    writer.add_topic(topic('/depth', 'std_msgs/msg/String', storage=Storage.CHUNK))
    writer.write('/depth', bytes(1_000_000), START_NS, START_NS)
    writer.close()
    assert bag_file(tmp_path / 'bag').stat().st_size < 20_000
    assert next(read_messages(bag_file(tmp_path / 'bag'))).data == bytes(1_000_000)


def test_existing_folder_is_refused_and_untouched(tmp_path: Path) -> None:
    write_bag(tmp_path / 'bag')
    before = bag_file(tmp_path / 'bag').read_bytes()
    with pytest.raises(BagExistsError, match='bag: expected a new folder'):
        open_bag(tmp_path / 'bag', custom_data={}, storage='mcap')
    assert bag_file(tmp_path / 'bag').read_bytes() == before


def test_topic_of_another_type_and_undeclared_topic_are_named(tmp_path: Path) -> None:
    writer = open_bag(tmp_path / 'bag', custom_data={}, storage='mcap')
    writer.add_topic(topic('/a', 'std_msgs/msg/String'))
    writer.add_topic(topic('/a', 'std_msgs/msg/String', qos=(LATCHED_QOS,)))
    with pytest.raises(TopicError, match='/a is std_msgs/msg/String in this bag, found it as s'):
        writer.add_topic(topic('/a', 'std_msgs/msg/Float64'))
    with pytest.raises(TopicError, match='topic /b was never declared'):
        writer.write('/b', b'', 0, 0)
    writer.close()


def test_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = open_bag(tmp_path / 'bag', custom_data={}, storage='mcap')
    writer.add_topic(topic('/a', 'std_msgs/msg/String'))

    def full(descriptor: int, data: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(mcap_file.os, 'write', full)
    writer.write('/a', b'abc', 1, 1)
    with pytest.raises(BagWriteError, match='bag_0.mcap: the disk is full'):
        writer.sync()


def test_short_writes_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(mcap_file.os, 'write', lambda fd, data: real(fd, data[:7]))
    write_bag(tmp_path / 'bag', messages=20)
    assert len(list(read_messages(bag_file(tmp_path / 'bag')))) == 25


def test_synced_bag_holds_every_message_without_its_end(tmp_path: Path) -> None:
    writer = open_bag(tmp_path / 'bag', custom_data={}, storage='mcap')
    writer.add_topic(topic('/a', 'std_msgs/msg/String'))
    for i in range(10):
        writer.write('/a', bytes([i]), START_NS + i, START_NS)
    writer.sync()
    found = []
    with open(bag_file(tmp_path / 'bag'), 'rb') as file, contextlib.suppress(EndOfFile):
        for record in StreamReader(file).records:
            if isinstance(record, Message):
                found.append(record.data)
    assert found == [bytes([i]) for i in range(10)]
    with pytest.raises(BagCorruptError, match='bag_0.mcap'):
        list(read_messages(bag_file(tmp_path / 'bag')))


def test_definitions_hold_nested_types_and_match_ros(tmp_path: Path) -> None:
    text = definition('sensor_msgs/msg/JointState')
    assert text.count('MSG: std_msgs/Header') == text.count('MSG: builtin_interfaces/Time') == 1
    assert type_hash('sensor_msgs/msg/JointState') == (
        'RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e'
    )
    assert 'MSG: std_msgs/Header' in definition('teleop_flywheel/msg/Authority')
    with pytest.raises(TopicError, match='nowhere_msgs/msg/Nothing'):
        definition('nowhere_msgs/msg/Nothing')
    with pytest.raises(TopicError, match='expected package/msg/Name'):
        definition('Nothing')


def test_definitions_without_ros_are_the_typestores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('AMENT_PREFIX_PATH', '/nowhere')
    for cached in (definition, type_hash):
        cached.cache_clear()
    try:
        assert 'MSG: geometry_msgs/Vector3' in definition('geometry_msgs/msg/WrenchStamped')
        assert type_hash('geometry_msgs/msg/WrenchStamped').startswith('RIHS01_8dc3deaf')
    finally:
        for cached in (definition, type_hash):
            cached.cache_clear()

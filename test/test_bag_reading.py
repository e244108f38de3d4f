# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import random
import shutil
import sqlite3

from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType, Writer
import pytest
import zstandard

from curation.bag.reader import BagReader, open_bag
from curation.exceptions import BagError, CurationError, DecodeError
from recorder.bag.content_id import content_id
from recorder.bag.definitions import definition
from recorder.bag.messages import joint_state, text
from support.streams import CAMERA, JOINTS, MS, START_NS, STATE, usual, write

JOINT_STATE = 'sensor_msgs/msg/JointState'


def contents(bag: BagReader, **options: object) -> list[tuple[str, bytes, int]]:
    return [(m.topic, bytes(m.data), m.log_ns) for m in bag.messages(**options)]


def bare(path: Path, *, count: int = 200, step: int = 1, **options: object) -> Path:
    """Write an MCAP file as another recorder would."""
    with open(path, 'wb') as file:
        writer = Writer(file, **options)
        writer.start('ros2', 'test')
        schema = writer.register_schema(JOINT_STATE, 'ros2msg', definition(JOINT_STATE).encode())
        broken = writer.register_schema('own/msg/Broken', 'ros2msg', b'float64 [ what\n')
        proto = writer.register_schema('own.Thing', 'protobuf', b'\x01\x02')
        channels = [
            writer.register_channel('/joint_states', 'cdr', schema),
            writer.register_channel('/broken', 'cdr', broken),
            writer.register_channel('/thing', 'protobuf', proto),
        ]
        for i in range(count):
            stamp = START_NS + (i * step % count) * 10 * MS
            data = joint_state(stamp, JOINTS, [0.01 * i, 0.0, 0.0])
            for channel in channels:
                writer.add_message(channel, stamp, data, stamp, i)
        writer.finish()
    return path


@pytest.mark.parametrize(
    'options',
    [
        {'compression': CompressionType.ZSTD},
        {'compression': CompressionType.LZ4},
        {'compression': CompressionType.NONE},
        {'use_chunking': False},
        {'chunk_size': 2000},
        {'use_summary_offsets': False, 'index_types': IndexType.NONE},
        {'repeat_schemas': False, 'repeat_channels': False},
        {'use_statistics': False},
    ],
    ids=str,
)
def test_bare_mcap_of_any_layout(tmp_path: Path, options: dict[str, object]) -> None:
    bag = open_bag(bare(tmp_path / 'other.mcap', **options))
    messages = contents(bag, topics=['/joint_states'])
    assert [log for _, _, log in messages] == [START_NS + i * 10 * MS for i in range(200)]
    decoded = [bag.decoder('/joint_states').decode(data) for _, data, _ in messages]
    assert [message.position[0] for message in decoded] == [0.01 * i for i in range(200)]
    assert not any(problem.lost for problem in bag.problems)
    first, last = START_NS + 500 * MS, START_NS + 700 * MS
    part = contents(bag, topics=['/joint_states'], start_ns=first, end_ns=last)
    assert part == [m for m in messages if first <= m[2] < last]


def test_undecodable_channels_are_lost_by_name_and_never_the_rest(tmp_path: Path) -> None:
    bag = open_bag(bare(tmp_path / 'other.mcap'))
    for name, why in (('/broken', 'own/msg/Broken'), ('/thing', "found 'protobuf'")):
        with pytest.raises(DecodeError, match=f'{name}: .*{why}'):
            bag.decoder(name)
    assert bag.decoder('/joint_states').fields == (
        'header',
        'name',
        'position',
        'velocity',
        'effort',
    )
    with pytest.raises(DecodeError, match="no topic '/nowhere'"):
        bag.decoder('/nowhere')


def test_messages_out_of_order_come_in_log_time_order(tmp_path: Path) -> None:
    bag = open_bag(bare(tmp_path / 'other.mcap', step=77, chunk_size=1000))
    logs = [log for _, _, log in contents(bag)]
    assert logs == sorted(logs) and len(logs) == 600


def test_idl_schema_decodes(tmp_path: Path) -> None:
    idl = """module own { module msg {
        struct Reading { double value; sequence<double> more; string name; }; }; };"""
    with open(tmp_path / 'idl.mcap', 'wb') as file:
        writer = Writer(file)
        writer.start('ros2')
        schema = writer.register_schema('own/msg/Reading', 'ros2idl', idl.encode())
        channel = writer.register_channel('/reading', 'cdr', schema)
        data = (
            b'\x00\x01\x00\x00'
            + b'\x00\x00\x00\x00\x00\x00\xf8\x3f'
            + b'\x00\x00\x00\x00'
            + b'\x02\x00\x00\x00a\x00'
        )
        writer.add_message(channel, 1, data, 1)
        writer.finish()
    bag = open_bag(tmp_path / 'idl.mcap')
    message = bag.decoder('/reading').decode(next(iter(bag.messages())).data)
    assert (message.value, len(message.more), message.name) == (1.5, 0, 'a')


def test_middleware_rubbish_after_a_message_is_left_out(tmp_path: Path) -> None:
    bag = open_bag(write(tmp_path / 'bag', usual()))
    data = bytes(next(iter(bag.messages([STATE]))).data)
    decoder = bag.decoder(STATE)
    assert (
        decoder.decode(data + b'\x07' * 8).position.tolist()
        == decoder.decode(data).position.tolist()
    )
    with pytest.raises(DecodeError, match='expected'):
        decoder.decode(data + b'\x07' * 40)


def test_bag_of_ours_carries_its_facts_and_id(tmp_path: Path) -> None:
    path = write(tmp_path / 'bag', usual(), session='{"task": "pick"}')
    bag = open_bag(path)
    assert bag.custom_data['session'] == '{"task": "pick"}'
    assert bag.content_id == content_id(path)
    (path / 'metadata.yaml').unlink()
    again = open_bag(path)
    assert again.custom_data['session'] == '{"task": "pick"}'
    assert contents(again) == contents(bag)
    assert [problem.lost for problem in again.problems] == [False]


def test_refs_read_the_same_message_again(tmp_path: Path) -> None:
    bag = open_bag(write(tmp_path / 'bag', usual()))
    for message in bag.messages():
        assert bytes(bag.read(message.ref)) == bytes(message.data)


def test_messages_that_are_kept_stay_what_they_were(tmp_path: Path) -> None:
    path = bare(tmp_path / 'bag.mcap', chunk_size=2000, compression=CompressionType.ZSTD)
    with open_bag(path) as bag:
        kept = list(bag.messages())
        again = [(m.topic, bytes(m.data), m.log_ns) for m in bag.messages()]
        assert [(m.topic, bytes(m.data), m.log_ns) for m in kept] == again


def test_split_files_are_one_bag(tmp_path: Path) -> None:
    folder = tmp_path / 'split'
    folder.mkdir()
    whole = open_bag(bare(tmp_path / 'whole.mcap'))
    for k in (0, 1, 2):
        with open(folder / f'split_{k}.mcap', 'wb') as file:
            writer = Writer(file)
            writer.start('ros2')
            schema = writer.register_schema(
                JOINT_STATE, 'ros2msg', definition(JOINT_STATE).encode()
            )
            channel = writer.register_channel('/joint_states', 'cdr', schema)
            for i, message in enumerate(whole.messages(['/joint_states'])):
                if i % 3 == k:  # files that overlap in time
                    writer.add_message(
                        channel, message.log_ns, bytes(message.data), message.log_ns
                    )
            writer.finish()
    assert contents(open_bag(folder)) == contents(whole, topics=['/joint_states'])
    (folder / 'split_1.mcap').write_bytes(b'')
    assert any('0 bytes' in problem.text and problem.lost for problem in open_bag(folder).problems)


def sqlite_bag(path: Path, *, mode: str = '') -> Path:
    """Write a bag as rosbag2's sqlite3 storage does, compressed as asked."""
    path.mkdir()
    file = path / 'bag_0.db3'
    compress = zstandard.ZstdCompressor().compress
    with sqlite3.connect(file) as database:
        database.execute(
            'CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, '
            'serialization_format TEXT, offered_qos_profiles TEXT)'
        )
        database.execute(
            'CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, '
            'timestamp INTEGER, data BLOB)'
        )
        database.execute("INSERT INTO topics VALUES(1, '/s', 'std_msgs/msg/String', 'cdr', '')")
        for i in range(20):
            data = text(f'message {i}')
            data = compress(data) if mode == 'MESSAGE' else data
            database.execute(
                'INSERT INTO messages VALUES(?, 1, ?, ?)', (i + 1, START_NS - i, data)
            )
    database.close()
    name = file.name
    if mode == 'FILE':
        (path / 'bag_0.db3.zstd').write_bytes(compress(file.read_bytes()))
        file.unlink()
        name = 'bag_0.db3.zstd'
    (path / 'metadata.yaml').write_text(
        'rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: sqlite3\n'
        f'  relative_file_paths: [{name}]\n  compression_mode: "{mode}"\n'
        '  topics_with_message_count:\n  - topic_metadata: {name: /s, type: std_msgs/msg/String, '
        'serialization_format: cdr, offered_qos_profiles: ""}\n    message_count: 20\n'
    )
    return path


@pytest.mark.parametrize('mode', ['', 'MESSAGE', 'FILE'])
def test_sqlite_bags_compressed_or_not(tmp_path: Path, mode: str) -> None:
    before = sqlite_bag(tmp_path / 'bag', mode=mode)
    listing = sorted(path.name for path in before.iterdir())
    with open_bag(before) as bag:
        found = [bag.decoder('/s').decode(m.data).data for m in bag.messages()]
    assert found == [f'message {i}' for i in reversed(range(20))]
    assert sorted(path.name for path in before.iterdir()) == listing


def test_sqlite_bag_with_fewer_messages_than_its_metadata_says(tmp_path: Path) -> None:
    path = sqlite_bag(tmp_path / 'bag')
    with sqlite3.connect(path / 'bag_0.db3') as database:
        database.execute('DELETE FROM messages WHERE id > 15')
    database.close()
    assert any('expected 20 messages' in problem.text for problem in open_bag(path).problems)


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda path: None, 'no such file'),
        (lambda path: path.mkdir(), 'expected a bag'),
        (lambda path: path.write_bytes(b''), '0 bytes'),
        (lambda path: path.write_bytes(b'hello world'), 'expected an MCAP file'),
    ],
)
def test_what_is_no_bag_is_one_clear_error(
    tmp_path: Path, make: Callable[[Path], object], message: str
) -> None:
    make(tmp_path / 'thing')
    with pytest.raises(BagError, match=message):
        open_bag(tmp_path / 'thing')


def test_ros_1_bag_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / 'old.bag').write_bytes(b'#ROSBAG V2.0\n')
    with pytest.raises(BagError, match='ROS 1 bag'):
        open_bag(tmp_path / 'old.bag')


def readable(path: Path) -> tuple[list[tuple[str, bytes, int]], bool]:
    """Read what is there; also tell whether a loss was named."""
    try:
        with open_bag(path) as bag:
            found = contents(bag)
            for topic, data, _ in found:
                try:
                    bag.decoder(topic).decode(data)
                except DecodeError:
                    return found, True
            return found, any(problem.lost for problem in bag.problems)
    except CurationError:
        return [], True


def small(folder: Path) -> Path:
    streams = usual()
    return write(folder, {STATE: streams[STATE], CAMERA: streams[CAMERA][:10]})


@pytest.mark.parametrize('seed', range(4))
def test_cut_file_gives_its_beginning_and_names_the_loss(tmp_path: Path, seed: int) -> None:
    source = small(tmp_path / 'bag')
    whole = contents(open_bag(source))
    file = next(source.glob('*.mcap'))
    data = file.read_bytes()
    chooser = random.Random(seed)
    for k in range(50):
        cut = chooser.randrange(len(data))
        copy = tmp_path / f'cut_{k}.mcap'
        copy.write_bytes(data[:cut])
        found, named = readable(copy)
        assert set(found) <= set(whole)
        assert len(found) == len(whole) or named, cut


@pytest.mark.parametrize('seed', range(4))
def test_flipped_byte_never_gives_other_data(tmp_path: Path, seed: int) -> None:
    source = small(tmp_path / 'bag')
    whole = contents(open_bag(source))
    file = next(source.glob('*.mcap'))
    data = file.read_bytes()
    chooser = random.Random(1000 + seed)
    for k in range(50):
        at = chooser.randrange(len(data))
        altered = bytearray(data)
        altered[at] ^= 1 << chooser.randrange(8)
        copy = tmp_path / f'flip_{k}.mcap'
        copy.write_bytes(altered)
        found, named = readable(copy)
        assert set(found) <= set(whole), at
        assert len(found) == len(whole) or named, at


def test_damaged_chunk_costs_only_its_own_messages(tmp_path: Path) -> None:
    path = bare(tmp_path / 'other.mcap', chunk_size=4000)
    whole = contents(open_bag(path))
    data = bytearray(path.read_bytes())
    with open(path, 'rb') as file:
        chunks = make_reader(file).get_summary().chunk_indexes
    chunk = chunks[len(chunks) // 2]
    data[chunk.chunk_start_offset + chunk.chunk_length // 2] ^= 255
    path.write_bytes(data)
    bag = open_bag(path)
    found = contents(bag)
    assert 0.8 * len(whole) < len(found) < len(whole)
    lost = [problem for problem in bag.problems if problem.lost]
    assert lost and '/joint_states' in lost[0].topics and lost[0].start_ns is not None


def test_reading_leaves_the_bag_as_it_was(tmp_path: Path) -> None:
    path = small(tmp_path / 'bag')
    shutil.copytree(path, tmp_path / 'copy')
    contents(open_bag(path))
    assert {f.name: f.read_bytes() for f in path.iterdir()} == {
        f.name: f.read_bytes() for f in (tmp_path / 'copy').iterdir()
    }

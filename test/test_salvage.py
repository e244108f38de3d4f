# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Whatever its end, what a recording's file holds is brought over and the rest is counted."""

from __future__ import annotations

from pathlib import Path
import shutil

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from recorder.bag.content_id import content_id
from recorder.bag.mcap_reader import bag_file, BagMessage, read_facts, read_messages
from recorder.bag.salvage import salvage
from recorder.exceptions import BagCorruptError
from support.bags import write_bag

CORPUS = Path(__file__).parents[1] / '../shared/corpus/recorded'


@pytest.fixture(scope='module')
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('whole') / 'bag'
    write_bag(path, rig='name: x\n', messages=400)
    return path


def cut(whole: Path, folder: Path, length: int) -> Path:
    bag = folder / 'cut'
    bag.mkdir()
    (bag / 'cut_0.mcap').write_bytes(bag_file(whole).read_bytes()[:length])
    return bag


def messages(bag: Path) -> list[BagMessage]:
    return list(read_messages(bag_file(bag)))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(share=st.floats(0.01, 1.0))
def test_file_cut_anywhere_gives_back_a_prefix_of_each_stream(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    folder = tmp_path_factory.mktemp('cut')
    bag = cut(whole, folder, int(bag_file(whole).stat().st_size * share))
    before = bag_file(bag).read_bytes()
    try:
        found = salvage(bag, folder / 'new')
    except BagCorruptError as error:
        if 'found none that can be read' in str(error):
            return
        raise
    assert bag_file(bag).read_bytes() == before
    assert found.custom_data['rig'] == 'name: x\n'
    assert read_facts(bag_file(folder / 'new'))['rig'] == 'name: x\n'
    assert not found.lost
    for topic in ('/joint_states', '/image'):
        expected = [m for m in messages(whole) if m.topic == topic]
        got = [m for m in messages(folder / 'new') if m.topic == topic]
        assert got == expected[: len(got)] and len(got) == found.counts.get(topic, 0)


def test_whole_bag_comes_over_with_its_id(whole: Path, tmp_path: Path) -> None:
    salvage(whole, tmp_path / 'new')
    assert content_id(tmp_path / 'new') == content_id(whole)


def test_zeros_at_the_end_as_a_power_cut_leaves_them(whole: Path, tmp_path: Path) -> None:
    size = bag_file(whole).stat().st_size
    bag = cut(whole, tmp_path, size // 2)
    with open(bag_file(bag), 'ab') as file:
        file.write(bytes(100_000))
    found = salvage(bag, tmp_path / 'new')
    assert sum(found.counts.values()) > 100
    assert found.lost_bytes >= 100_000


def test_flipped_byte_costs_its_chunk_and_is_counted(tmp_path: Path) -> None:
    write_bag(tmp_path / 'bag', messages=3000, image_bytes=0)
    shutil.copytree(tmp_path / 'bag', tmp_path / 'flipped')
    path = bag_file(tmp_path / 'flipped')
    data = bytearray(path.read_bytes())
    data[data.index(b'shoulder', len(data) // 3)] ^= 0x40
    path.write_bytes(data)
    found = salvage(tmp_path / 'flipped', tmp_path / 'new')
    assert found.damaged_chunks == 1
    assert found.counts['/joint_states'] + found.lost['/joint_states'] == 3000
    assert 0 < found.lost['/joint_states'] < 2000


@pytest.mark.parametrize('content', [b'', b'not a bag at all', b'\x89MCAP0\r\n'])
def test_nothing_to_save_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / 'bag').mkdir()
    (tmp_path / 'bag/bag_0.mcap').write_bytes(content)
    with pytest.raises(BagCorruptError, match='bag_0.mcap: '):
        salvage(tmp_path / 'bag', tmp_path / 'new')
    assert not (tmp_path / 'new').exists()


def test_bag_of_a_killed_ros2_bag_record(tmp_path: Path) -> None:
    if not CORPUS.is_dir():
        pytest.skip('../shared/corpus is absent: no bag of a killed recorder')
    found = salvage(CORPUS / 'killed_fastwrite', tmp_path / 'new')
    assert found.counts['/leader/joint_states'] > 100
    assert len(messages(tmp_path / 'new')) == sum(found.counts.values())

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from curation.align.load import load_episode
from curation.bag.find import find_bags
from curation.bag.images import decode_color, decode_depth
from curation.bag.reader import open_bag
from curation.exceptions import BagError, DecodeError
from support.streams import CORPUS
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig

pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason='the public corpus ../shared/corpus is not there'
)
# topics whose schema the bag does not carry or carries wrongly, by the part of the path
UNDECODABLE = {
    'sqlite3/convert_a': {'a_empty', 'b_basictypes'},
    'sqlite3/convert_b': {'a_empty', 'c_strings'},
    'sqlite3/rewriter_a': {'a_empty', 'b_basictypes'},
    'sqlite3/rewriter_b': {'a_empty', 'c_strings'},
    'sqlite3/test_bag_for_seek': {'topic1'},
    'sqlite3/talker': {'/rosout'},
    'bag_with_topics_and_service_events': {
        '/test_service1/_service_event',
        '/test_service2/_service_event',
    },
}


def test_deepen_grade_gives_one_episode_from_both_storages() -> None:
    rig = load_rig(data_file('config/rigs/deepen_grade.yaml'))
    data = CORPUS / 'deepen-grade' / 'tests' / 'fixtures' / 'data'
    mcap, sqlite = (load_episode(data / name, rig) for name in ('sample.mcap', 'sample_ros2'))
    assert len(mcap) == 200
    np.testing.assert_array_equal(mcap.grid_ns, sqlite.grid_ns)
    np.testing.assert_array_equal(mcap.state, sqlite.state)
    assert mcap.action is not None and sqlite.action is not None
    np.testing.assert_array_equal(mcap.action, sqlite.action)
    for name, indices in mcap.indices.items():
        np.testing.assert_array_equal(indices, sqlite.indices[name])


def bags() -> list[Path]:
    return find_bags([CORPUS / 'rosbag2']) if CORPUS.is_dir() else []


@pytest.mark.parametrize('path', bags(), ids=lambda path: '/'.join(path.parts[-2:]))
def test_every_public_bag_is_read_and_decoded_or_says_why_not(path: Path) -> None:
    failed = set()
    with open_bag(path) as bag:
        count = 0
        for message in bag.messages():
            count += 1
            try:
                bag.decoder(message.topic).decode(message.data)
            except DecodeError as error:
                failed.add(message.topic if message.topic in str(error) else str(error))
        assert count == bag.message_count
        assert not any(problem.lost for problem in bag.problems)
    expected = [topics for part, topics in UNDECODABLE.items() if part in str(path)]
    assert failed == (expected[0] if expected else set())


def test_killed_recorders_leave_what_they_wrote() -> None:
    with open_bag(CORPUS / 'recorded' / 'killed_fastwrite') as bag:
        assert sum(1 for _ in bag.messages()) == 2129
        assert [p.text for p in bag.problems if p.lost and 'is cut in a record at byte' in p.text]
    with pytest.raises(BagError, match='killed_0.mcap: expected an MCAP file, found 0 bytes'):
        open_bag(CORPUS / 'recorded' / 'killed')


@pytest.mark.parametrize('storage', ['plain', 'sqlite3'])
def test_images_of_the_real_recorder(storage: str) -> None:
    with open_bag(CORPUS / 'recorded' / storage) as bag:
        colour = [
            bag.decoder(m.topic).decode(m.data) for m in bag.messages(['/cam/image/compressed'])
        ]
        depth = [bag.decoder(m.topic).decode(m.data) for m in bag.messages(['/cam/depth'])]
    pixels = decode_color(colour[len(colour) // 2], 'test')
    ball = pixels.reshape(-1, 3)[pixels.sum(axis=2).argmax()]
    assert ball[0] > 150 and ball[1] < 80 and ball[2] < 80  # red, not blue
    np.testing.assert_array_equal(
        decode_depth(depth[0], 'test'), 20 * np.arange(12 * 16, dtype=np.uint16).reshape(12, 16)
    )

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Chunks are read into memory that is used again, but never while a message looks at it."""

from curation.bag.buffers import Buffers


def test_memory_is_used_again_once_no_view_is_left() -> None:
    buffers = Buffers()
    first = buffers.take(1000)
    first[:] = b'a' * 1000
    part = first[10:20]
    del first
    second = buffers.take(1000)
    second[:] = b'b' * 1000
    assert bytes(part) == b'a' * 10

    held = buffers._buffers[:]
    del part, second
    for _ in range(20):
        buffers.take(900)
    assert len(buffers._buffers) == len(held)
    assert {id(one) for one in buffers._buffers} == {id(one) for one in held}


def test_smaller_memory_goes_where_larger_is_needed() -> None:
    buffers = Buffers()
    for size in (10, 1000, 100, 5000, 20):
        assert len(buffers.take(size)) == size
    assert [len(one) for one in buffers._buffers] == [5000]


def test_no_memory_at_all_can_be_taken_twice() -> None:
    buffers = Buffers()
    assert len(buffers.take(0)) == len(buffers.take(0)) == 0

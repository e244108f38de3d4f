# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A control loop's inputs wait for it: the executor neither wakes for them nor takes them."""

from __future__ import annotations

from collections.abc import Iterator
import time

import pytest

from support.live import new_domain, wait_until

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed')
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.qos import QoSProfile  # noqa: E402
from std_msgs.msg import Int64  # noqa: E402

from teleop_bridge.nodes.polled import DEPTH, PolledSubscriptions  # noqa: E402


class Loop:
    """A node that polls a topic, and the topic's publisher."""

    def __init__(self, context: rclpy.Context) -> None:
        self.node = Node('loop', context=context)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.polled = PolledSubscriptions(self.node)
        self.taken: list[int] = []
        self.polled.add(Int64, 'numbers', lambda message: self.taken.append(message.data))
        self.publisher = self.node.create_publisher(Int64, 'numbers', QoSProfile(depth=1000))
        wait_until(
            lambda: self.publisher.get_subscription_count() == 1, self.spin, 'the subscription'
        )

    def spin(self) -> None:
        self.executor.spin_once(timeout_sec=0.05)

    def publish(self, numbers: range) -> None:
        for number in numbers:
            self.publisher.publish(Int64(data=number))

    def poll_until(self, last: int) -> None:
        wait_until(lambda: self.taken[-1:] == [last], self.polled.poll, f'number {last}')


@pytest.fixture
def loop() -> Iterator[Loop]:
    context = rclpy.Context()
    context.init(domain_id=new_domain())
    loop = Loop(context)
    yield loop
    loop.executor.shutdown()
    loop.node.destroy_node()
    context.try_shutdown()


def test_messages_wait_for_the_poll_and_come_in_their_order(loop: Loop) -> None:
    loop.publish(range(20))
    for _ in range(3):
        loop.spin()
    assert not loop.taken
    loop.poll_until(19)
    assert loop.taken == list(range(20))


def test_what_waits_keeps_no_executor_busy(loop: Loop) -> None:
    loop.publish(range(20))
    loop.spin()
    before = time.thread_time()
    loop.executor.spin_once(timeout_sec=0.5)
    assert time.thread_time() - before < 0.1


def test_a_poll_ends_though_more_comes_than_it_reads(loop: Loop) -> None:
    loop.publish(range(3 * DEPTH))
    loop.polled.poll()
    assert len(loop.taken) <= DEPTH
    loop.poll_until(3 * DEPTH - 1)
    assert loop.taken == sorted(loop.taken)

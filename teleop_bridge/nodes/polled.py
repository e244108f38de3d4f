# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that a control loop reads when it needs them, apart from the executor.

A command is made of what has come by its time, so waking for each message before gains nothing;
it costs half a millisecond of rclpy's executor a message, and now and then it is in the way when
the period is due.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

DEPTH = 100  # what a topic of 1 kHz brings in a period of 10 Hz
_QOS = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)


class _LeftAlone(ReentrantCallbackGroup):
    """Keeps subscriptions, and their events, out of executors' wait sets.

    Their events too, for Fast DDS wakes by a reader's data whoever waits for its events. The one
    that is lost tells of QoS that doesn't match, and what is asked for here always does.
    """

    def can_execute(self, entity: object) -> bool:
        return False


class PolledSubscriptions:
    """Subscriptions whose messages wait, the last ``DEPTH`` of each, until ``poll``."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._group = _LeftAlone()
        self._subscriptions: list[Subscription] = []

    def add(self, type_: Any, topic: str, on_message: Callable[[Any], None]) -> None:
        """Subscribe a topic; any publisher's reliability matches."""
        self._subscriptions.append(
            self._node.create_subscription(
                type_, topic, on_message, _QOS, callback_group=self._group
            )
        )

    def poll(self) -> None:
        """Hand over what has come since the last poll, each topic's messages in their order."""
        for subscription in self._subscriptions:
            with subscription.handle:
                for _ in range(DEPTH):  # and not until it is empty: that need never be
                    taken = subscription.handle.take_message(subscription.msg_type, False)
                    if taken is None:
                        break
                    subscription.callback(taken[0])

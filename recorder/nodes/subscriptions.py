# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Raw subscriptions drained in a thread of their own, by one wait set, apart from the executor.

rclpy's executors handle one message per wait; at a thousand messages a second that costs more than
the messages. Here one wake-up takes all that every subscription holds.
"""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.type_support import check_is_valid_msg_type

from recorder.reception import reception_ns
from teleop_bridge.clock import SessionClock

Deliver = Callable[[str, bytes, int, int, int | None], None]
"""Called with topic, CDR bytes, reception (session time), source time (both ns), sequence."""

_WAIT_NS = 100_000_000
_GATHER_S = 0.003  # after a wake-up, so that the next one finds more than one message


class _Subscription:
    def __init__(self, node: Node, topic: str, type_: Any, qos: QoSProfile) -> None:
        self.topic = topic
        self.type = type_
        check_is_valid_msg_type(type_)  # this also loads the type's support library
        with node.handle:
            self.handle = _rclpy.Subscription(node.handle, type_, topic, qos.get_c_qos_profile())


class RawSubscriptions:
    """Subscriptions whose serialised bytes go to ``deliver``, from one thread."""

    def __init__(self, node: Node, clock: SessionClock, deliver: Deliver) -> None:
        """Start the thread; it ends with ``close``."""
        self._node = node
        self._clock = clock
        self._deliver = deliver
        self._subscriptions: dict[str, _Subscription] = {}
        self._lock = threading.Lock()
        self._changed = True
        self._stopping = False
        self._guard = _rclpy.GuardCondition(node.context.handle)
        self._thread = threading.Thread(target=self._run, name='capture', daemon=True)
        self._thread.start()

    def add(self, topic: str, type_: Any, qos: QoSProfile) -> None:
        """Subscribe a topic, in place of what it was subscribed with before."""
        subscription = _Subscription(self._node, topic, type_, qos)
        with self._lock:
            self._subscriptions[topic] = subscription
            self._changed = True
        self._guard.trigger_guard_condition()

    def remove(self, topic: str) -> None:
        """Unsubscribe a topic, if it was subscribed."""
        with self._lock:
            self._changed |= self._subscriptions.pop(topic, None) is not None

    def close(self) -> None:
        """End the thread after it has taken what is queued."""
        self._stopping = True
        self._guard.trigger_guard_condition()
        self._thread.join()

    def _run(self) -> None:
        current: list[_Subscription] = []
        wait_set = None
        while True:
            with self._lock:
                if self._changed or wait_set is None:
                    current = list(self._subscriptions.values())
                    self._changed = False
                    wait_set = _rclpy.WaitSet(
                        len(current), 1, 0, 0, 0, 0, self._node.context.handle
                    )
            wait_set.clear_entities()
            for subscription in current:
                wait_set.add_subscription(subscription.handle)
            wait_set.add_guard_condition(self._guard)
            wait_set.wait(_WAIT_NS)
            ready = set(wait_set.get_ready_entities('subscription'))
            for subscription in current:
                if subscription.handle.pointer in ready:
                    self._drain(subscription)
            if self._stopping:
                return
            if ready:
                time.sleep(_GATHER_S)

    def _drain(self, subscription: _Subscription) -> None:
        take, type_ = subscription.handle.take_message, subscription.type
        while (taken := take(type_, True)) is not None:
            data, info = taken
            received_ns = reception_ns(
                info['received_timestamp'],
                wall_ns=time.time_ns(),
                session_ns=self._clock.now_ns(),
            )
            self._deliver(
                subscription.topic,
                data,
                received_ns,
                info['source_timestamp'],
                info.get('publication_sequence_number'),
            )

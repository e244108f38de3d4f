# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Raw subscriptions, polled in a thread of their own, apart from the executor.

rclpy's executors wait for each message; at a thousand messages a second the waiting costs more
than the messages. Here nobody waits for any: the middleware stamps a message when it comes and
holds it, and each turn takes all that there is, topic by topic.
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

from recorder.bag.writer import Arrival
from recorder.reception import reception_ns
from teleop_bridge.clock import SessionClock

Deliver = Callable[[str, list[Arrival]], None]
"""Called with a topic and its messages as they came, logged at their reception (session time)."""

_PERIOD_S = 0.02
_BATCH = 64  # messages of one topic in one turn, so that no topic waits for another's backlog
_TURNS = 32  # in which more is taken than the middleware holds


class _Subscription:
    def __init__(self, node: Node, topic: str, type_: Any, qos: QoSProfile) -> None:
        self.topic = topic
        self.type = type_
        check_is_valid_msg_type(type_)  # this also loads the type's support library
        with node.handle:
            self.handle = _rclpy.Subscription(node.handle, type_, topic, qos.get_c_qos_profile())


class RawSubscriptions:
    """Subscriptions whose serialised messages go to ``deliver``, from one thread at a time."""

    def __init__(self, node: Node, clock: SessionClock, deliver: Deliver) -> None:
        """Start the thread; it ends with ``close``."""
        self._node = node
        self._clock = clock
        self._deliver = deliver
        self._subscriptions: dict[str, _Subscription] = {}
        self._lock = threading.Lock()  # of the subscriptions, and of taking from them
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name='capture', daemon=True)
        self._thread.start()

    def add(self, topic: str, type_: Any, qos: QoSProfile) -> None:
        """Subscribe a topic; one that is subscribed already is subscribed anew."""
        subscription = _Subscription(self._node, topic, type_, qos)
        with self._lock:
            self._subscriptions[topic] = subscription

    def catch_up(self) -> None:
        """Deliver what has come until now, before returning."""
        for _ in range(_TURNS):
            if not self._turn():
                return

    def close(self) -> None:
        """End the thread after it has taken what is there."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(_PERIOD_S):
            self.catch_up()
        self.catch_up()

    def _turn(self) -> bool:
        """Deliver a batch of each topic; tell whether one of them may hold more."""
        with self._lock:
            more = [self._take(each) for each in self._subscriptions.values()]
        return any(more)

    def _take(self, subscription: _Subscription) -> bool:
        """Deliver up to ``_BATCH`` messages of one topic; tell whether there may be more."""
        take, type_ = subscription.handle.take_message, subscription.type
        taken = []
        while len(taken) < _BATCH and (message := take(type_, True)) is not None:
            taken.append(message)
        if not taken:
            return False
        wall_ns, session_ns = time.time_ns(), self._clock.now_ns()
        self._deliver(
            subscription.topic,
            [
                (
                    data,
                    reception_ns(
                        info['received_timestamp'], wall_ns=wall_ns, session_ns=session_ns
                    ),
                    info['source_timestamp'],
                    info.get('publication_sequence_number'),
                )
                for data, info in taken
            ],
        )
        return len(taken) == _BATCH

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The clock that a node stamps on, as its rig declares it."""

from __future__ import annotations

from rclpy.node import Node
from std_msgs.msg import Int64

from teleop_bridge.clock import SessionClock
from teleop_bridge.nodes.qos import LATCHED
from teleop_bridge.rig.schema import Clock, Rig

OFFSET_TOPIC = 'session/clock_offset'


class NodeClock:
    """Session time as the recorder fixed it, or ROS time where the rig declares that.

    Until the recorder has told its offset, session time starts from the wall time of the node's
    start.
    """

    def __init__(self, node: Node, rig: Rig) -> None:
        self._ros = node.get_clock() if rig.clock is Clock.ROS else None
        self._session = SessionClock.from_wall_clock()
        node.create_subscription(Int64, OFFSET_TOPIC, self._adopt, LATCHED)

    @property
    def session(self) -> SessionClock:
        """Return the session's clock as it is known now."""
        return self._session

    def now_ns(self) -> int:
        """Return the time to stamp with, ns."""
        return self._session.now_ns() if self._ros is None else self._ros.now().nanoseconds

    def _adopt(self, message: Int64) -> None:
        self._session = SessionClock(message.data)

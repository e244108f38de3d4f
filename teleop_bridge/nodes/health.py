# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A node's health on /diagnostics, once a second."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from teleop_bridge.nodes.qos import EVENT

Report = tuple[bool, str, Mapping[str, object]]


class Health:
    """Publishes what ``report`` says: whether all is well, one line, and values by name."""

    def __init__(self, node: Node, report: Callable[[], Report]) -> None:
        self._node = node
        self._report = report
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', EVENT)
        node.create_timer(1.0, self._publish)

    def _publish(self) -> None:
        well, line, values = self._report()
        status = DiagnosticStatus(
            level=DiagnosticStatus.OK if well else DiagnosticStatus.WARN,
            name=self._node.get_fully_qualified_name(),
            message=line,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Runs on another machine of the rig and answers the recorder's questions for the time."""

from __future__ import annotations

import socket
import sys
import time

from rclpy.node import Node
from std_msgs.msg import Int64MultiArray, MultiArrayDimension

from teleop_bridge.nodes.parameters import declare
from teleop_bridge.nodes.qos import SENSOR
from teleop_bridge.nodes.run import run

PING, PONG = 'clock_probe/ping', 'clock_probe/pong'


class ClockProbeNode(Node):
    """Answers each ping [sent] with a pong [sent, received, answered], ns, labelled by host."""

    def __init__(self) -> None:
        """Subscribe the pings."""
        super().__init__(f'clock_probe_{_word(socket.gethostname())}')
        self._host = declare(self, 'host', socket.gethostname(), 'name that the answers carry')
        self._answers = self.create_publisher(Int64MultiArray, PONG, SENSOR)
        self.create_subscription(Int64MultiArray, PING, self._answer, SENSOR)

    def _answer(self, ping: Int64MultiArray) -> None:
        received = time.time_ns()
        pong = Int64MultiArray()
        pong.layout.dim.append(MultiArrayDimension(label=self._host))
        pong.data = [ping.data[0], received, time.time_ns()]
        self._answers.publish(pong)


def _word(text: str) -> str:
    return ''.join(char if char.isalnum() else '_' for char in text)


def main(args: list[str] | None = None) -> int:
    """Run the clock probe."""
    return run(ClockProbeNode, args=args)


if __name__ == '__main__':
    sys.exit(main())

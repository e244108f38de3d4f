# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Receives a recording load as the recorder does and drops it: what the middleware alone costs.

Run as: receiver.py NAME …, with names of LOADS in load.py; it stops at SIGINT.
"""

from __future__ import annotations

from pathlib import Path
import runpy
import signal
import sys
import threading

import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy

from recorder.nodes.subscriptions import RawSubscriptions
from teleop_bridge.clock import SessionClock
from teleop_bridge.nodes.large_messages import share_memory_for_images

LOADS = runpy.run_path(str(Path(__file__).with_name('load.py')))['LOADS']


def main() -> None:
    """Receive until SIGINT."""
    ended = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: ended.set())
    share_memory_for_images()
    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = rclpy.create_node('receiver')
    raw = RawSubscriptions(node, SessionClock.from_wall_clock(), lambda *_: None)
    for name in sys.argv[1:]:
        for topic, type_, rate_hz in LOADS[name]:
            depth = max(round(2 * rate_hz), 20)
            raw.add(topic, type_, QoSProfile(depth=depth, reliability=ReliabilityPolicy.RELIABLE))
    ended.wait()
    raw.close()
    rclpy.shutdown()


if __name__ == '__main__':
    main()

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Publishes a recording load, and at its end writes down the stamp of every message it sent.

Run as: load.py NAME OUTPUT.npz, with NAME of LOADS below; it stops at SIGINT.
"""

from __future__ import annotations

import heapq
import signal
import struct
import sys
import time

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CompressedImage, Image, JointState

from recorder.bag import messages
from teleop_bridge.nodes.large_messages import share_memory_for_images

LOADS = {
    'two_raw_cameras': [(f'camera/c{i}/image_raw', Image, 30.0) for i in range(2)],
    'raw_cameras': [(f'camera/c{i}/image_raw', Image, 30.0) for i in range(4)],
    'jpeg_cameras': [(f'camera/c{i}/compressed', CompressedImage, 30.0) for i in range(4)],
    'joints_500': [(f'joints/j{i}', JointState, 500.0) for i in range(2)],
    'joints_1000': [(f'joints/j{i}', JointState, 1000.0) for i in range(2)],
}
JPEG_BYTES = 60_000
_STAMP = struct.Struct('<iI')


class Stream:
    """One topic, published as bytes that were serialised once; only the stamp changes."""

    def __init__(self, node: Node, topic: str, type_: type, rate_hz: float) -> None:
        small = issubclass(type_, JointState)
        qos = QoSProfile(depth=200 if small else 10, reliability=ReliabilityPolicy.RELIABLE)
        self.publisher: Publisher = node.create_publisher(type_, topic, qos)
        self.data = bytearray(_payload(type_))
        self.period_ns = round(1e9 / rate_hz)
        self.stamps: list[int] = []

    def publish(self) -> None:
        """Publish one message, stamped now."""
        stamp = time.time_ns()
        _STAMP.pack_into(self.data, 4, *divmod(stamp, 1_000_000_000))
        self.publisher.publish(bytes(self.data))
        self.stamps.append(stamp)


def _payload(type_: type) -> bytes:
    if type_ is JointState:
        names = [f'joint_{i}' for i in range(7)]
        return messages.joint_state(0, names, np.zeros(7), np.zeros(7), np.zeros(7))
    pixels = np.random.default_rng(0).integers(0, 256, (480, 640, 3), np.uint8)
    if type_ is Image:
        return messages.image(0, pixels, encoding='rgb8')
    message = CompressedImage(format='jpeg')
    message.data = pixels.tobytes()[:JPEG_BYTES]
    return bytes(serialize_message(message))


def main() -> None:
    """Publish until SIGINT."""
    name, output = sys.argv[1:]
    running = True

    def stop(*_: object) -> None:
        nonlocal running
        running = False

    signal.signal(signal.SIGINT, stop)
    share_memory_for_images()
    rclpy.init(signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    node = rclpy.create_node(f'load_{name}')
    streams = [Stream(node, *entry) for entry in LOADS[name]]
    now = time.monotonic_ns()
    # cameras that are not synchronised: spread over their period
    due = [(now + i * stream.period_ns // len(streams), i) for i, stream in enumerate(streams)]
    heapq.heapify(due)
    while running:
        at, i = due[0]
        time.sleep(max(at - time.monotonic_ns(), 0) / 1e9)
        streams[i].publish()
        heapq.heapreplace(due, (at + streams[i].period_ns, i))
    np.savez(
        output,
        **{f'/{stream.publisher.topic_name.strip("/")}': stream.stamps for stream in streams},
    )
    rclpy.shutdown()


if __name__ == '__main__':
    main()

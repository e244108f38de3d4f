# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Say what was refused, and count it, without flooding the log."""

from __future__ import annotations

from collections import Counter

from rclpy.node import Node

from teleop_bridge.exceptions import FlywheelError


class Refusals:
    """Counts refused messages by cause; the log has each cause once every few seconds."""

    def __init__(self, node: Node) -> None:
        self.counts: Counter[str] = Counter()
        self._logger = node.get_logger()

    def add(self, source: str, error: FlywheelError) -> None:
        """Count one message from ``source`` that was refused because of ``error``."""
        cause = f'{source}: {error}'
        self.counts[cause] += 1
        self._logger.warning(f'message refused: {cause}', throttle_duration_sec=5.0)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Buttons of a gamepad or pedal (sensor_msgs/Joy) that act as the recorder's services do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rclpy.node import Node
from sensor_msgs.msg import Joy

from teleop_bridge.nodes.parameters import declare
from teleop_bridge.nodes.qos import SENSOR

_NONE = -1


class Buttons:
    """Calls an action once each time its button goes down."""

    def __init__(self, node: Node, actions: Mapping[str, Callable[[], None]]) -> None:
        """Declare a parameter ``button_NAME`` per action, and subscribe ``joy`` if one is set."""
        self._actions: dict[int, Callable[[], None]] = {}
        self._down: set[int] = set()
        for name, action in actions.items():
            text = f'index of the Joy button for {name}; -1: none'
            button = declare(node, f'button_{name}', _NONE, text, low=_NONE, high=63)
            if button != _NONE:
                self._actions[button] = action
        if self._actions:
            node.create_subscription(Joy, 'joy', self._on_joy, SENSOR)

    def _on_joy(self, message: Joy) -> None:
        down = {index for index, value in enumerate(message.buttons) if value}
        for button in sorted(down - self._down):
            if button in self._actions:
                self._actions[button]()
        self._down = down

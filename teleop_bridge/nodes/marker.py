# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The intervention under way as a text over the robot, for RViz."""

from __future__ import annotations

from rclpy.node import Node
from visualization_msgs.msg import Marker

from teleop_bridge.intervention import Event
from teleop_bridge.nodes.convert import to_stamp
from teleop_bridge.nodes.parameters import declare
from teleop_bridge.nodes.qos import LATCHED
from teleop_bridge.vocabulary import InterventionEvent

_HEIGHT_M = 0.5
_SIZE_M = 0.04


class InterventionMarker:
    """Shows an intervention from its begin to its end."""

    def __init__(self, node: Node) -> None:
        self._frame = declare(
            node, 'marker_frame', 'base_link', 'frame that the RViz text stands over'
        )
        self._publisher = node.create_publisher(Marker, '~/marker', LATCHED)
        self._shown = False

    def show(self, event: Event) -> None:
        """Take one event."""
        if event.event is InterventionEvent.BEGIN:
            self._shown = True
        elif event.event is InterventionEvent.END:
            self._shown = False
        named = f'{event.kind}: {event.reason}' if event.kind else 'unnamed'
        marker = Marker(
            type=Marker.TEXT_VIEW_FACING,
            action=Marker.ADD if self._shown else Marker.DELETE,
            text=f'intervention by {event.trigger.value}\n{named}',
        )
        marker.header.frame_id = self._frame
        marker.header.stamp = to_stamp(event.stamp_ns)
        marker.pose.position.z = _HEIGHT_M
        marker.pose.orientation.w = 1.0
        marker.scale.z = _SIZE_M
        marker.color.r, marker.color.g, marker.color.a = 1.0, 0.6, 1.0
        self._publisher.publish(marker)

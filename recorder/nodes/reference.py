# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Shows the live camera with the reference frame of the asked location over it."""

from __future__ import annotations

from pathlib import Path
import sys

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import Image
from teleop_flywheel.msg import EpisodeStatus

from recorder.exceptions import SessionError
from recorder.reference import overlay, ReferenceFrames
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.nodes.convert import to_image, to_ns
from teleop_bridge.nodes.parameters import declare, declare_rig
from teleop_bridge.nodes.qos import LATCHED, SENSOR
from teleop_bridge.nodes.run import run
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.vocabulary import SessionState

_ENCODINGS = ('rgb8', 'bgr8')
_PERIOD_NS = 100_000_000  # ten frames a second are enough to place an object


class ReferenceNode(Node):
    """Keeps the first frame of the first episode at each location and overlays it at resets."""

    def __init__(self) -> None:
        """Subscribe the camera and the recorder's status."""
        super().__init__('reference')
        rig = load_rig(declare_rig(self))
        name = declare(self, 'camera', '', "camera to show; empty: the rig's first")
        folder = declare(self, 'references', 'references', 'folder that keeps the frames')
        cameras = [camera for camera in rig.cameras if name in ('', camera.name)]
        if not cameras:
            raise SessionError(f"parameter camera: expected one of {rig.path}, found '{name}'")
        self._frames = ReferenceFrames(Path(folder))
        self._status = EpisodeStatus()
        self._shown_ns = 0
        self._refused = ''
        self._publisher = self.create_publisher(Image, 'recorder/reference', SENSOR)
        self.create_subscription(EpisodeStatus, 'recorder/status', self._on_status, LATCHED)
        self.create_subscription(Image, rig.stream(cameras[0].image).topic, self._on_image, SENSOR)

    def _on_status(self, status: EpisodeStatus) -> None:
        self._status = status

    def _on_image(self, message: Image) -> None:
        stamp_ns = to_ns(message.header.stamp)
        recording = self._status.state == SessionState.RECORDING
        if not recording and 0 <= stamp_ns - self._shown_ns < _PERIOD_NS:
            return
        try:
            if message.encoding not in _ENCODINGS:
                raise SessionError(
                    f'reference: expected images in {" or ".join(_ENCODINGS)}, '
                    f'found {message.encoding}'
                )
            live = np.frombuffer(message.data, np.uint8).reshape(message.height, -1)
            live = live[:, : 3 * message.width].reshape(message.height, message.width, 3)
            task, place = self._status.task, self._status.location
            if recording and place:
                self._frames.keep(task, place, live)
            if recording or not place:
                return
            shown = overlay(live, self._frames.get(task, place))
        except FlywheelError as error:
            if str(error) != self._refused:
                self._refused = str(error)
                self.get_logger().error(self._refused)
            return
        self._shown_ns = stamp_ns
        self._publisher.publish(
            to_image(
                shown,
                encoding=message.encoding,
                frame_id=message.header.frame_id,
                stamp_ns=stamp_ns,
            )
        )


def main(args: list[str] | None = None) -> int:
    """Run the reference node."""
    return run(ReferenceNode, args=args)


if __name__ == '__main__':
    sys.exit(main())

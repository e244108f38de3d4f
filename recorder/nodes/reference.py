# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Shows the live camera with the reference frame of the asked location over it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import sys

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import CompressedImage, Image
from std_msgs.msg import Header
from teleop_flywheel.msg import EpisodeStatus

from recorder.bag.messages import COMPRESSED_IMAGE, IMAGE
from recorder.exceptions import SessionError
from recorder.reference import decode, overlay, Pixels, ReferenceFrames
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.nodes.convert import to_image, to_ns
from teleop_bridge.nodes.parameters import declare, declare_rig
from teleop_bridge.nodes.qos import LATCHED, SENSOR
from teleop_bridge.nodes.run import run
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.vocabulary import SessionKind, SessionState

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
        stream = rig.stream(cameras[0].image)
        kinds = {
            IMAGE: (Image, self._on_image),
            COMPRESSED_IMAGE: (CompressedImage, self._on_compressed),
        }
        if stream.type not in kinds:
            raise SessionError(
                f'{rig.path}: camera {cameras[0].name}: expected {" or ".join(kinds)}, '
                f'found {stream.type}'
            )
        self._frames = ReferenceFrames(Path(folder))
        self._status = EpisodeStatus()
        self._shown_ns = 0
        self._refused = ''
        self._publisher = self.create_publisher(Image, 'recorder/reference', SENSOR)
        self.create_subscription(EpisodeStatus, 'recorder/status', self._on_status, LATCHED)
        type_, take = kinds[stream.type]
        self.create_subscription(type_, stream.topic, take, SENSOR)

    def _on_status(self, status: EpisodeStatus) -> None:
        self._status = status

    def _on_image(self, message: Image) -> None:
        if message.encoding not in _ENCODINGS:
            self._refuse(f'{" or ".join(_ENCODINGS)}, found {message.encoding}')
            return
        rows = np.frombuffer(message.data, np.uint8).reshape(message.height, -1)
        pixels = rows[:, : 3 * message.width].reshape(message.height, message.width, 3)
        self._take(message.header, lambda: pixels, message.encoding)

    def _on_compressed(self, message: CompressedImage) -> None:
        self._take(message.header, lambda: decode(bytes(message.data)), 'bgr8')

    def _take(self, header: Header, pixels: Callable[[], Pixels], encoding: str) -> None:
        stamp_ns = to_ns(header.stamp)
        dry_run = self._status.session_kind == SessionKind.DRY_RUN.value
        recording = self._status.state == SessionState.RECORDING and not dry_run
        if not recording and 0 <= stamp_ns - self._shown_ns < _PERIOD_NS:
            return
        task, place = self._status.task, self._status.location
        if not place:
            return
        try:
            if recording:
                if self._frames.get(task, place) is None:
                    self._frames.keep(task, place, pixels())
                return
            shown = overlay(pixels(), self._frames.get(task, place))
        except FlywheelError as error:
            self._refuse(str(error))
            return
        self._shown_ns = stamp_ns
        self._publisher.publish(
            to_image(shown, encoding=encoding, frame_id=header.frame_id, stamp_ns=stamp_ns)
        )

    def _refuse(self, why: str) -> None:
        if why != self._refused:
            self._refused = why
            self.get_logger().error(f'reference: expected images that can be shown: {why}')


def main(args: list[str] | None = None) -> int:
    """Run the reference node."""
    return run(ReferenceNode, args=args)


if __name__ == '__main__':
    sys.exit(main())

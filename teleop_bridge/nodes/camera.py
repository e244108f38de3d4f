# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Node: one camera of the rig, its images, CameraInfo and place."""

from __future__ import annotations

import array
from pathlib import Path
import sys
import threading

from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import CameraInfo, CompressedImage, Image

from teleop_bridge.cameras.calibration import CameraCalibration, load_calibration
from teleop_bridge.cameras.profile import FrameCounter, Profile, RateCheck
from teleop_bridge.cameras.source import CameraFrame, CameraSource
from teleop_bridge.cameras.v4l2 import V4l2Camera
from teleop_bridge.cameras.video_file import VideoFile
from teleop_bridge.exceptions import DeviceError, RigError
from teleop_bridge.nodes.convert import to_image, to_stamp
from teleop_bridge.nodes.health import Health, Report
from teleop_bridge.nodes.large_messages import share_memory_for_images
from teleop_bridge.nodes.parameters import declare, declare_rig
from teleop_bridge.nodes.qos import LATCHED, STREAM
from teleop_bridge.nodes.run import run
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Camera, Clock, Rig

_COMPRESSED = 'sensor_msgs/msg/CompressedImage'
_DEFAULT_HZ = 30.0


class CameraNode(Node):
    """Publishes each frame with the time at which it was taken; reads in a thread of its own."""

    def __init__(self) -> None:
        super().__init__('camera')
        self._rig = load_rig(declare_rig(self))
        name = declare(self, 'camera', '', "the camera's name in the rig")
        self._camera = _camera(self._rig, name)
        self._stream = self._rig.stream(self._camera.image)
        self._time = NodeClock(self, self._rig)
        self._counter = FrameCounter()
        self._failure = ''
        self._compressed = self._stream.type == _COMPRESSED
        kind = CompressedImage if self._compressed else Image
        self._images = self.create_publisher(kind, self._stream.topic, STREAM)
        self._info = self._info_publisher()
        self._static = self._publish_place()
        self._error: DeviceError | None = None
        self._check: RateCheck | None = None
        self._source = self._open()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        self._health = Health(self, self._report)
        self.create_timer(0.2, self._raise_error)

    def destroy_node(self) -> None:
        """Stop reading, then end the node."""
        self._stopping.set()
        self._thread.join()
        self._source.close()
        super().destroy_node()

    def _open(self) -> CameraSource:
        camera = self._camera
        if camera.source == 'video':
            video = VideoFile(Path(camera.device))
            video.open()
            return video
        if camera.source != 'v4l2':
            raise RigError(
                f'{self._rig.path}: cameras.{camera.name}.source: expected v4l2 or video for '
                f"this node, found '{camera.source}'"
            )
        if not (camera.width and camera.height):
            raise RigError(f'{self._rig.path}: cameras.{camera.name}: needs width and height')
        pixel_format = 'MJPG' if self._compressed else 'RGB3'
        rate_hz = self._stream.rate_hz or _DEFAULT_HZ
        profile = Profile(camera.width, camera.height, rate_hz, pixel_format)
        source = V4l2Camera(device=camera.device, profile=profile)
        source.open()
        self._check = RateCheck(profile, source.profiles, camera.device)
        return source

    def _info_publisher(self) -> tuple[object, CameraCalibration] | None:
        camera = self._camera
        if camera.info is None or not camera.calibration:
            return None
        path = Path(self._rig.path).parent / camera.calibration
        topic = self._rig.stream(camera.info).topic
        return self.create_publisher(CameraInfo, topic, STREAM), load_calibration(path)

    def _publish_place(self) -> object | None:
        """Publish where the camera is mounted on tf_static, from the rig file."""
        camera = self._camera
        if camera.xyz is None or camera.rpy is None:
            return None
        from tf2_msgs.msg import TFMessage

        transform = TransformStamped(child_frame_id=camera.frame_id)
        transform.header.frame_id = camera.parent_frame
        transform.header.stamp = self.get_clock().now().to_msg()
        place, turn = transform.transform.translation, transform.transform.rotation
        place.x, place.y, place.z = camera.xyz
        turn.x, turn.y, turn.z, turn.w = Rotation.from_euler('xyz', camera.rpy).as_quat().tolist()
        publisher = self.create_publisher(TFMessage, '/tf_static', LATCHED)
        publisher.publish(TFMessage(transforms=[transform]))
        return publisher

    def _read(self) -> None:
        while not self._stopping.is_set():
            try:
                frame = self._source.read()
                if frame is None:
                    self._failure = 'no frame for a second'
                    continue
                if self._check is not None:
                    self._check.add(frame.monotonic_ns)
            except DeviceError as error:
                self._error = error
                return
            self._failure = ''
            if self._counter.add(frame.sequence, frame.monotonic_ns):
                self._publish(frame)

    def _raise_error(self) -> None:
        """End the node with what the reading thread met: a launch file may start it again."""
        if self._error is not None:
            raise self._error

    def _publish(self, frame: CameraFrame) -> None:
        stamp_ns = self._stamp_ns(frame.monotonic_ns)
        frame_id = self._camera.frame_id
        if frame.pixels is not None:
            message = to_image(frame.pixels, encoding='rgb8', frame_id=frame_id, stamp_ns=stamp_ns)
        else:
            message = CompressedImage(format='jpeg')
            data = array.array('B')
            data.frombytes(frame.jpeg or b'')
            message.data = data
            message.header.frame_id = frame_id
            message.header.stamp = to_stamp(stamp_ns)
        self._images.publish(message)
        if self._info is not None:
            publisher, calibration = self._info
            publisher.publish(_camera_info(calibration, message.header))

    def _stamp_ns(self, monotonic_ns: int) -> int:
        """Return a kernel stamp on the rig's clock."""
        session = self._time.session
        if self._rig.clock is Clock.SESSION:
            return session.from_monotonic_ns(monotonic_ns)
        age_ns = session.now_ns() - session.from_monotonic_ns(monotonic_ns)
        return self._time.now_ns() - age_ns

    def _report(self) -> Report:
        counter = self._counter
        values = {
            'received': counter.received,
            'dropped': counter.dropped,
            'repeated': counter.repeated,
        }
        return not self._failure, self._failure or 'running', values


def _camera(rig: Rig, name: str) -> Camera:
    for camera in rig.cameras:
        if camera.name == name:
            return camera
    known = ', '.join(camera.name for camera in rig.cameras) or 'none'
    raise RigError(f"{rig.path}: no camera '{name}' (cameras: {known})")


def _camera_info(calibration: CameraCalibration, header: object) -> CameraInfo:
    return CameraInfo(
        header=header,
        width=calibration.width,
        height=calibration.height,
        distortion_model=calibration.model,
        d=list(calibration.d),
        k=list(calibration.k),
        r=list(calibration.r),
        p=list(calibration.p),
    )


def main() -> None:
    """Run the node."""
    share_memory_for_images()
    sys.exit(run(CameraNode))


if __name__ == '__main__':
    main()

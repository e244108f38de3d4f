# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Node: the simulated SO-101 in real time: commands in, joints, cameras and forces out."""

from __future__ import annotations

import sys
import time
from typing import Any

from geometry_msgs.msg import PoseStamped, WrenchStamped
import numpy as np
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger

from teleop_bridge.exceptions import FlywheelError, JointError, RigError
from teleop_bridge.joints import select_joints
from teleop_bridge.nodes import sim_messages
from teleop_bridge.nodes.convert import to_image, to_stamp
from teleop_bridge.nodes.health import Health, Report
from teleop_bridge.nodes.large_messages import share_memory_for_images
from teleop_bridge.nodes.parameters import declare, declare_rig
from teleop_bridge.nodes.qos import LATCHED, SENSOR, STREAM
from teleop_bridge.nodes.refusals import Refusals
from teleop_bridge.nodes.run import run
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig, Role
from teleop_bridge.sim.camera_thread import CameraThread, Frames
from teleop_bridge.sim.description import robot_description
from teleop_bridge.sim.rig import Pose, SimRig
from teleop_bridge.sim.scene import camera_model, CameraModel, CAMERAS, JOINTS

_MOST_STEP_NS = 100_000_000  # after a stall, physics does not try to catch up with more
_TF_EVERY = 3                # state ticks


class SimRigNode(Node):
    """Steps physics with the clock and publishes what the rig file declares.

    ``sim/reset`` lays the cube at ``cube_xy`` and ``cube_yaw``, or anywhere where they are empty;
    the arm stays where it is, as a real one would.
    """

    def __init__(self) -> None:
        super().__init__('sim_rig')
        rig = load_rig(declare_rig(self))
        if rig.joint_names != JOINTS:
            raise RigError(f'{rig.path}: joints: the simulated arm has {", ".join(JOINTS)}')
        seed = declare(self, 'seed', 0, 'seed of the start states', low=0, high=2**31 - 1)
        rate_hz = rig.by_role(Role.STATE)[0].rate_hz or rig.follower.rate_hz
        self.declare_parameter(
            'cube_xy',
            [0.2, -0.05],
            ParameterDescriptor(description='where sim/reset lays the cube, m'),
        )
        self.declare_parameter(
            'cube_yaw', 0.0, ParameterDescriptor(description='and its direction, rad')
        )
        self._time = NodeClock(self, rig)
        self._sim = SimRig(seed)
        self._last_ns = time.monotonic_ns()
        self._ticks = 0
        self._was_solved: bool | None = None
        self._refusals = Refusals(self)
        self._publish_states(rig)
        self._publish_cameras(rig)
        self._publish_description()
        for stream in rig.by_role(Role.ACTION):
            self.create_subscription(JointState, stream.topic, self._on_command, SENSOR)
        self.create_service(Trigger, 'sim/reset', self._reset)
        self._health = Health(self, self._report)
        self.create_timer(1 / rate_hz, self._tick)

    def destroy_node(self) -> None:
        """End the cameras' thread before the node that it publishes with."""
        self._cameras.close()
        super().destroy_node()

    def _publish_states(self, rig: Rig) -> None:
        def publisher(role: Role, kind: type) -> Any:
            (stream,) = rig.by_role(role)
            return self.create_publisher(kind, stream.topic, STREAM)

        self._state = publisher(Role.STATE, JointState)
        self._wrench = publisher(Role.WRENCH, WrenchStamped)
        self._load = publisher(Role.LOAD, JointState)
        self._cube = publisher(Role.POSE, PoseStamped)
        self._solved = self.create_publisher(Bool, 'sim/solved', LATCHED)

    def _publish_cameras(self, rig: Rig) -> None:
        self._models: dict[str, CameraModel] = {}
        self._images: dict[str, Any] = {}
        self._infos: dict[str, Any] = {}
        cameras = {camera.name: camera for camera in rig.cameras}
        if missing := [name for name in CAMERAS if name not in cameras]:
            raise RigError(f'{rig.path}: cameras.{missing[0]}: the simulated rig has this camera')
        for name in CAMERAS:
            image, info = cameras[name].image, cameras[name].info or f'{name}_info'
            self._models[name] = camera_model(self._sim.model, name)
            self._images[name] = self.create_publisher(Image, rig.stream(image).topic, STREAM)
            self._infos[name] = self.create_publisher(CameraInfo, rig.stream(info).topic, STREAM)
        (depth,) = rig.by_role(Role.DEPTH)
        self._depth = self.create_publisher(Image, depth.topic, STREAM)
        rate_hz = rig.stream(cameras['front'].image).rate_hz or 30.0
        every = max(1, round(rate_hz / (depth.rate_hz or 10.0)))
        self._cameras = CameraThread(self._on_frames, rate_hz=rate_hz, depth_every=every)

    def _publish_description(self) -> None:
        self._description = self.create_publisher(String, 'robot_description', LATCHED)
        self._description.publish(String(data=robot_description()))
        self._tf_type = sim_messages.tf_message_type()
        if self._tf_type is None:
            self.get_logger().warning('no tf: the package tf2_msgs is not installed')
            return
        self._tf = self.create_publisher(self._tf_type, 'tf', STREAM)
        self._tf_static = self.create_publisher(self._tf_type, 'tf_static', LATCHED)
        stamp = to_stamp(self._time.now_ns())
        mounts = [
            sim_messages.transform(
                model.parent_frame,
                model.frame_id,
                Pose(np.array(model.xyz), np.array(model.quat_wxyz)),
                stamp,
            )
            for model in self._models.values()
        ]
        self._tf_static.publish(self._tf_type(transforms=mounts))

    def _tick(self) -> None:
        now_ns = time.monotonic_ns()
        self._sim.step(min(now_ns - self._last_ns, _MOST_STEP_NS))
        self._last_ns = now_ns
        stamp_ns = self._time.now_ns()
        stamp = to_stamp(stamp_ns)
        self._state.publish(sim_messages.joint_state(self._sim.state(), stamp))
        self._wrench.publish(sim_messages.wrench_stamped(self._sim.wrench(), stamp))
        self._load.publish(sim_messages.load_state(self._sim.gripper_load(), stamp))
        self._cube.publish(sim_messages.pose_stamped(self._sim.cube_pose(), stamp))
        self._cameras.show(self._sim.positions(), stamp_ns)
        if self._tf_type is not None and self._ticks % _TF_EVERY == 0:
            transforms = sim_messages.link_transforms(self._sim.link_poses(), stamp)
            self._tf.publish(self._tf_type(transforms=transforms))
        if self._sim.solved() is not self._was_solved:
            self._was_solved = self._sim.solved()
            self._solved.publish(Bool(data=self._was_solved))
        self._ticks += 1

    def _on_frames(self, frames: Frames) -> None:
        stamp = to_stamp(frames.stamp_ns)
        for name, pixels in frames.colour.items():
            frame_id = self._models[name].frame_id
            image = to_image(
                pixels, encoding='rgb8', frame_id=frame_id, stamp_ns=frames.stamp_ns
            )
            self._images[name].publish(image)
            self._infos[name].publish(sim_messages.camera_info(self._models[name], stamp))
        if frames.depth is not None:
            frame_id = self._models['front'].frame_id
            self._depth.publish(
                to_image(
                    frames.depth, encoding='16UC1', frame_id=frame_id, stamp_ns=frames.stamp_ns
                )
            )

    def _on_command(self, message: JointState) -> None:
        try:
            picked = select_joints(JOINTS, message.name, message.position)
            self._sim.command(np.array([picked[name] for name in JOINTS]))
        except JointError as error:
            self._refusals.add('command', error)

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        xy = list(self.get_parameter('cube_xy').value)
        yaw = float(self.get_parameter('cube_yaw').value)
        try:
            self._sim.lay_cube(xy, yaw)
        except FlywheelError as error:
            response.success, response.message = False, str(error)
            return response
        response.success, response.message = True, f'the cube lies at {xy}'
        return response

    def _report(self) -> Report:
        refused = self._refusals.counts
        line = f'{refused.total()} commands refused' if refused else 'simulating'
        return not refused, line, {'ticks': self._ticks, **refused}


def main() -> None:
    """Run the node."""
    share_memory_for_images()
    sys.exit(run(SimRigNode))


if __name__ == '__main__':
    main()

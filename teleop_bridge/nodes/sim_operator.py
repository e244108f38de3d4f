# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Node: a scripted person at the leader arm of the simulated rig."""

from __future__ import annotations

import sys

from geometry_msgs.msg import PoseStamped
import numpy as np
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState, Joy
from std_msgs.msg import String
from std_srvs.srv import Trigger
from teleop_flywheel.msg import Authority

from teleop_bridge.exceptions import FlywheelError, JointError
from teleop_bridge.joints import JointMerger
from teleop_bridge.nodes.convert import to_joint_state, to_ns, to_stamp
from teleop_bridge.nodes.parameters import declare, declare_rig
from teleop_bridge.nodes.qos import LATCHED, SENSOR, STREAM
from teleop_bridge.nodes.refusals import Refusals
from teleop_bridge.nodes.run import run
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.pedal import NO_BUTTON, pedal
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Role
from teleop_bridge.sim.kinematics import ArmKinematics
from teleop_bridge.sim.leader import leader_sample
from teleop_bridge.sim.operator import Request, ScriptedOperator, Sight
from teleop_bridge.sim.rig import Pose
from teleop_bridge.sim.skill import Script, script_named, skill_named

IDLE, RESTING = 'idle', 'resting'


class SimOperatorNode(Node):
    """Publishes the leader's joints and asks for authority as the script has it.

    ``~/begin`` starts an attempt by ``script``, ``skill`` and ``seed`` as they are set then;
    ``~/rest`` and ``~/abort`` bring the leader to a start pose. ``~/status`` says idle, resting,
    running, and after an attempt succeeded or failed.
    """

    def __init__(self) -> None:
        super().__init__('sim_operator')
        self._rig = load_rig(declare_rig(self))
        declare(self, 'tasks', '', 'path of the tasks file')
        for name, default, meaning in (
            ('script', 'clean', 'clean, fumble, jerky, correction or pedal'),
            ('skill', 'better', 'better, okay or worse'),
            ('seed', 0, 'seed of the next attempt'),
            ('fatigue', 0.0, '0 (fresh) to 1 (exhausted)'),
        ):
            self.declare_parameter(name, default, ParameterDescriptor(description=meaning))
        self.add_on_set_parameters_callback(self._check_parameters)
        self._time = NodeClock(self, self._rig)
        self._refusals = Refusals(self)
        self._joints = JointMerger(self._rig.joint_names)
        self._cube: Pose | None = None
        self._weight = 1.0
        self._kinematics = ArmKinematics()
        self._person = self._new_person()
        self._leader_at: np.ndarray | None = None
        self._told = ''
        self._status = self.create_publisher(String, '~/status', LATCHED)
        (leader,) = self._rig.by_role(Role.LEADER)
        self._publisher = self.create_publisher(JointState, leader.topic, STREAM)
        self._subscribe()
        self._askers = {
            Request.TAKE_OVER: self.create_client(Trigger, 'intervention/take_over'),
            Request.HAND_BACK: self.create_client(Trigger, 'intervention/hand_back'),
        }
        declared = pedal(self._rig)
        self._buttons = {
            Request.TAKE_OVER: declared.take_over, Request.HAND_BACK: declared.hand_back,
        }
        self._joy = self.create_publisher(Joy, declared.topic, STREAM)
        for name, serve in (('begin', self._begin), ('rest', self._rest), ('abort', self._rest)):
            self.create_service(Trigger, f'~/{name}', serve)
        self._tell(IDLE)
        self.create_timer(1 / (leader.rate_hz or self._rig.follower.rate_hz), self._tick)

    def _subscribe(self) -> None:
        for stream in self._rig.by_role(Role.STATE):
            self.create_subscription(JointState, stream.topic, self._on_state, SENSOR)
        for stream in self._rig.by_role(Role.POSE):
            self.create_subscription(PoseStamped, stream.topic, self._on_cube, SENSOR)
        for stream in self._rig.by_role(Role.AUTHORITY):
            self.create_subscription(Authority, stream.topic, self._on_authority, SENSOR)

    def _on_state(self, message: JointState) -> None:
        try:
            self._joints.update(message.name, message.position, to_ns(message.header.stamp))
        except JointError as error:
            self._refusals.add('state', error)

    def _on_cube(self, message: PoseStamped) -> None:
        at, turn = message.pose.position, message.pose.orientation
        self._cube = Pose(np.array([at.x, at.y, at.z]), np.array([turn.w, turn.x, turn.y, turn.z]))

    def _on_authority(self, message: Authority) -> None:
        self._weight = message.weight

    def _tick(self) -> None:
        sight = self._sight()
        if sight is None:
            return
        if self._leader_at is None:
            self._leader_at = sight.joints
        if self._told not in (IDLE, ''):
            self._leader_at = self._person.step(sight)
            self._ask(self._person.take_request())
        self._publisher.publish(
            to_joint_state(leader_sample(self._rig, self._leader_at, sight.now_ns))
        )
        if self._told == 'running' and self._person.finished:
            self._tell(self._person.outcome.value)
        elif self._told == RESTING and self._person.finished:
            self._tell(IDLE)

    def _sight(self) -> Sight | None:
        joints = self._joints.latest()
        if joints is None or self._cube is None:
            return None
        return Sight(self._time.now_ns(), joints.positions, self._cube, self._weight)

    def _ask(self, request: Request | None) -> None:
        if request is None:
            return
        button = self._buttons[request]
        if self.get_parameter('script').value != Script.PEDAL or button == NO_BUTTON:
            self._askers[request].call_async(Trigger.Request())
            return
        for down in (1, 0):
            message = Joy(buttons=[down if i == button else 0 for i in range(button + 1)])
            message.header.stamp = to_stamp(self._time.now_ns())
            self._joy.publish(message)

    def _begin(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        sight = self._sight()
        if sight is None:
            response.message = 'the arm or the cube has not been seen yet: is sim_rig running?'
            return response
        self._person = self._new_person()
        self._person.begin(sight, self._leader_at)
        self._tell('running')
        response.success, response.message = True, 'an attempt begins'
        return response

    def _rest(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        sight = self._sight()
        if sight is None:
            response.message = 'the arm or the cube has not been seen yet: is sim_rig running?'
            return response
        self._person = self._new_person()
        self._person.rest(sight, self._leader_at)
        self._tell(RESTING)
        response.success, response.message = True, 'the leader goes to a start pose'
        return response

    def _new_person(self) -> ScriptedOperator:
        def value(name: str) -> object:
            return self.get_parameter(name).value

        return ScriptedOperator(
            self._kinematics,
            skill=skill_named(str(value('skill'))),
            script=script_named(str(value('script'))),
            seed=int(str(value('seed'))),
            fatigue=float(str(value('fatigue'))),
        )

    @staticmethod
    def _check_parameters(parameters: list[Parameter]) -> SetParametersResult:
        check = {'skill': skill_named, 'script': script_named}
        for parameter in parameters:
            try:
                check.get(parameter.name, str)(parameter.value)
            except FlywheelError as error:
                return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _tell(self, status: str) -> None:
        self._told = status
        self._status.publish(String(data=status))


def main() -> None:
    """Run the node."""
    sys.exit(run(SimOperatorNode))


if __name__ == '__main__':
    main()

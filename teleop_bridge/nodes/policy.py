# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Node: runs a policy and publishes what it proposes."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float32, String
from std_srvs.srv import Trigger

from teleop_bridge.exceptions import FlywheelError, JointError, RigError
from teleop_bridge.joints import JointMerger
from teleop_bridge.nodes.convert import to_joint_state, to_ns
from teleop_bridge.nodes.health import Health, Report
from teleop_bridge.nodes.matching import make_matcher
from teleop_bridge.nodes.observing import message_type, to_value
from teleop_bridge.nodes.parameters import declare, declare_rig
from teleop_bridge.nodes.qos import LATCHED, SENSOR, STREAM
from teleop_bridge.nodes.refusals import Refusals
from teleop_bridge.nodes.run import run
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.policy.base import load_policy, Observation, PolicyError
from teleop_bridge.policy.player import PolicyPlayer
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig, Role


class PolicyNode(Node):
    """Feeds a policy with fresh observations and plays its chunks at the control rate.

    ``~/reset`` begins a new episode.
    """

    def __init__(self) -> None:
        super().__init__('policy')
        rig = load_rig(declare_rig(self))
        plugin = declare(self, 'plugin', '', 'the policy as module:Class')
        checkpoint = declare(
            self, 'checkpoint', '', 'path of its checkpoint; empty where it has none'
        )
        proposals = rig.by_role(Role.POLICY_PROPOSAL)
        if not proposals:
            raise RigError(f'{rig.path}: streams: none has the role policy_proposal')
        self._time = NodeClock(self, rig)
        self._policy = load_policy(plugin, rig, checkpoint)
        self._player = PolicyPlayer(self._policy, rig)
        self._refusals = Refusals(self)
        self._state = JointMerger(rig.joint_names, strict=rig.strict_joints)
        self._values: dict[str, Any] = {}
        self._stamps: dict[str, int] = {}
        self._proposed = 0
        self._failure = ''
        self._publisher = self.create_publisher(JointState, proposals[0].topic, STREAM)
        self._confidence = self.create_publisher(Float32, 'policy/confidence', STREAM)
        self._status = self.create_publisher(String, 'policy/status', LATCHED)
        status = {'plugin': plugin, 'checkpoint': self._policy.checkpoint}
        self._status.publish(String(data=json.dumps(status)))
        self._subscribe(rig)
        self.create_service(Trigger, '~/reset', self._reset)
        self._health = Health(self, self._report)
        self.create_timer(1.0 / rig.follower.rate_hz, self._step)

    def _subscribe(self, rig: Rig) -> None:
        for stream in rig.by_role(Role.STATE):
            self.create_subscription(JointState, stream.topic, self._on_state, SENSOR)
        slop_ms = declare(
            self,
            'slop_ms',
            50.0,
            'how far apart the stamps of inputs that are looked at together may be, ms',
            low=1.0,
            high=1000.0,
        )
        matcher = make_matcher(self._policy.inputs, slop_ns=round(slop_ms * 1e6))
        for name in self._policy.inputs:
            stream = rig.stream(name)

            def on_input(message: Any, name: str = name) -> None:
                matched = matcher.add(name, message, to_ns(message.header.stamp))
                if matched is not None:
                    self._look(matched)

            self.create_subscription(message_type(stream.type), stream.topic, on_input, SENSOR)

    def _look(self, matched: dict[str, Any]) -> None:
        """Take one set of inputs that belong together, or none of it."""
        values = {}
        for name, message in matched.items():
            try:
                values[name] = to_value(message)
            except FlywheelError as error:
                self._refusals.add(name, error)
                return
        self._values = values
        self._stamps = {name: to_ns(message.header.stamp) for name, message in matched.items()}

    def _on_state(self, message: JointState) -> None:
        try:
            self._state.update(message.name, message.position, to_ns(message.header.stamp))
        except JointError as error:
            self._refusals.add('state', error)

    def _step(self) -> None:
        now_ns = self._time.now_ns()
        state = self._state.latest()
        observation = None
        if state is not None:
            observation = Observation(now_ns, state, dict(self._values), dict(self._stamps))
        try:
            proposal = self._player.step(observation, now_ns)
        except PolicyError as error:
            if str(error) != self._failure:
                self._failure = str(error)
                self.get_logger().error(self._failure)
            return
        if proposal is None:
            return
        self._proposed += 1
        self._publisher.publish(to_joint_state(proposal))
        if self._player.confidence is not None:
            self._confidence.publish(Float32(data=float(np.float32(self._player.confidence))))

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._player.reset()
        self._failure = ''
        response.success, response.message = True, 'a new episode'
        return response

    def _report(self) -> Report:
        late = {f'stale or missing: {name}': count for name, count in self._player.refused.items()}
        values = {'proposed': self._proposed, **late, **self._refusals.counts}
        line = self._failure or ('inputs are stale or missing' if late else 'proposing')
        return not (self._failure or late or self._refusals.counts), line, values


def main() -> None:
    """Run the node."""
    sys.exit(run(PolicyNode))


if __name__ == '__main__':
    main()

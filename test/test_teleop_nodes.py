# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Leader, follower and intervention nodes over Fast DDS: a takeover from end to end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
import math
from pathlib import Path

import pytest

from support.live import new_domain, node, wait_until

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed')
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from sensor_msgs.msg import JointState, Joy  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from teleop_flywheel.msg import Authority, Intervention  # noqa: E402
from teleop_flywheel.srv import LabelIntervention  # noqa: E402

from teleop_bridge.clock import SessionClock  # noqa: E402
from teleop_bridge.nodes.convert import to_ns, to_stamp  # noqa: E402
from teleop_bridge.nodes.qos import EVENT, SENSOR, STREAM  # noqa: E402

RIG = """
rig: live
joints:
  a: {lower: -2, upper: 2, velocity: 4, acceleration: 40}
  b: {lower: -2, upper: 2, velocity: 4, acceleration: 40}
leader:
  mapping:
    a: {source: lead_a, sign: -1}
    b: {source: lead_b}
streams:
  leader: {topic: leader/joint_states, type: sensor_msgs/msg/JointState, role: leader,
           max_age_ms: 200}
  human: {topic: leader/command, type: sensor_msgs/msg/JointState, role: human_proposal,
          max_age_ms: 200}
  policy: {topic: policy/command, type: sensor_msgs/msg/JointState, role: policy_proposal,
           max_age_ms: 200}
  action: {topic: follower/command, type: sensor_msgs/msg/JointState, role: action,
           max_age_ms: 200}
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 200}
  authority: {topic: authority, type: teleop_flywheel/msg/Authority, role: authority,
              max_age_ms: 200}
  wrench: {topic: wrench, type: geometry_msgs/msg/WrenchStamped, role: wrench, max_age_ms: 200}
  intervention: {topic: intervention, type: teleop_flywheel/msg/Intervention,
                 role: intervention}
follower: {rate_hz: 100, ramp_ms: 150, max_age_ms: 500, startup_velocity: 4}
devices:
  pedal: {topic: pedal, take_over: 0, hand_back: 2,
          labels: [{button: 3, kind: safety, reason: about to collide}]}
"""


class Arm:
    """An ideal follower, a leader at rest and a policy at rest, from one process."""

    def __init__(self, domain: int) -> None:
        self.context = rclpy.Context()
        self.context.init(domain_id=domain)
        self.node = Node('arm', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.clock = SessionClock.from_wall_clock()
        self.leader = {'lead_b': -0.3, 'lead_a': 0.3, 'other': 1.0}
        self.joints = {'b': 0.0, 'a': 0.0}
        self.authority: list[Authority] = []
        self.commands: list[JointState] = []
        self.events: list[Intervention] = []
        self._publishers = {
            topic: self.node.create_publisher(JointState, topic, STREAM)
            for topic in ('leader/joint_states', 'joint_states', 'policy/command')
        }
        self.node.create_subscription(JointState, 'follower/command', self._on_command, SENSOR)
        self.node.create_subscription(Authority, 'authority', self.authority.append, SENSOR)
        self.node.create_subscription(Intervention, 'intervention', self.events.append, EVENT)
        self.wrench = self.node.create_publisher(WrenchStamped, 'wrench', STREAM)
        self.pedal = self.node.create_publisher(Joy, 'pedal', STREAM)
        self.node.create_timer(0.01, self._publish)

    def _on_command(self, message: JointState) -> None:
        self.commands.append(message)
        self.joints = dict(zip(message.name, message.position, strict=True))

    def _publish(self) -> None:
        for topic, joints in (
            ('leader/joint_states', self.leader),
            ('joint_states', self.joints),
            ('policy/command', {'a': 0.0, 'b': 0.0}),
        ):
            message = JointState(name=list(joints), position=list(joints.values()))
            message.header.stamp = to_stamp(self.clock.now_ns())
            self._publishers[topic].publish(message)

    def spin(self) -> None:
        self.executor.spin_once(timeout_sec=0.05)

    def press(self, button: int) -> None:
        for down in (1, 0):
            self.pedal.publish(Joy(buttons=[down if i == button else 0 for i in range(8)]))

    def call(self, kind: type, name: str, request: object | None = None) -> object:
        client = self.node.create_client(kind, name)
        wait_until(client.service_is_ready, self.spin, name)
        future = client.call_async(request or kind.Request())
        wait_until(future.done, self.spin, f'an answer of {name}')
        return future.result()

    def wait_for_phase(self, phase: int, *, button: int | None = None) -> None:
        """Wait, pressing a button meanwhile as an impatient person does."""

        def act() -> None:
            if button is not None:
                self.press(button)
            self.spin()

        wait_until(
            lambda: bool(self.authority) and self.authority[-1].phase == phase,
            act,
            f'phase {phase}',
        )


@pytest.fixture
def arm(tmp_path: Path) -> Iterator[Arm]:
    rig = tmp_path / 'rig.yaml'
    rig.write_text(RIG)
    domain = new_domain()
    with ExitStack() as stack:
        for name in ('leader', 'follower', 'intervention'):
            log = tmp_path / f'{name}.log'
            limits = {'force_limit': 8.0} if name == 'intervention' else {}
            stack.enter_context(
                node(f'teleop_bridge.nodes.{name}', domain, log, rig=rig, **limits)
            )
        arm = Arm(domain)
        yield arm
        arm.executor.shutdown()
        arm.node.destroy_node()
        arm.context.try_shutdown()


def test_a_takeover_from_trigger_to_label(arm: Arm) -> None:
    arm.wait_for_phase(Authority.PHASE_HUMAN)
    wait_until(
        lambda: abs(arm.joints['a'] + 0.3) < 0.01, arm.spin, 'the follower to be at the leader'
    )
    assert arm.joints['b'] == pytest.approx(-0.3, abs=0.01)
    refused = arm.call(Trigger, 'intervention/hand_back')
    assert not refused.success and 'no intervention is under way' in refused.message

    arm.call(Trigger, 'follower/engage_policy')
    arm.wait_for_phase(Authority.PHASE_POLICY)
    wait_until(lambda: arm.authority[-1].converged, arm.spin, 'the policy to have the arm')
    arm.authority.clear()
    taken = arm.call(Trigger, 'intervention/take_over')
    arm.wait_for_phase(Authority.PHASE_HUMAN)
    wait_until(lambda: arm.authority[-1].converged, arm.spin, 'the human to have the arm')
    ramp = [m for m in arm.authority if m.phase == Authority.PHASE_TO_HUMAN]
    span_ns = to_ns(ramp[-1].header.stamp) - to_ns(ramp[0].header.stamp)
    assert 100e6 < span_ns < 200e6
    assert all(a.weight <= b.weight for a, b in zip(ramp, ramp[1:], strict=False))
    assert {message.intervention_id for message in ramp} == {taken.message}
    assert {message.source for message in ramp[1:]} == {'blend'}

    arm.call(Trigger, 'intervention/hand_back')
    arm.wait_for_phase(Authority.PHASE_POLICY)
    wait_until(lambda: arm.authority[-1].converged, arm.spin, 'the policy to have the arm again')
    request = LabelIntervention.Request(kind='goal', reason='wrong grasp')
    assert arm.call(LabelIntervention, 'intervention/label', request).id == taken.message
    wait_until(lambda: len(arm.events) == 5, arm.spin, 'all events')
    assert [event.event for event in arm.events] == [0, 1, 2, 1, 3]
    assert {event.id for event in arm.events} == {taken.message}
    assert {event.trigger for event in arm.events} == {'service'}


def test_a_stop_latches_and_a_bad_message_changes_nothing(arm: Arm) -> None:
    arm.wait_for_phase(Authority.PHASE_HUMAN)
    arm.leader = {'lead_a': math.nan, 'lead_b': -0.3}
    arm.wait_for_phase(Authority.PHASE_HOLD)
    assert 'the leader is stale' in arm.authority[-1].reason
    assert all(math.isfinite(value) for message in arm.commands for value in message.position)
    arm.call(Trigger, 'follower/estop')
    arm.wait_for_phase(Authority.PHASE_ESTOP)
    arm.leader = {'lead_a': 0.3, 'lead_b': -0.3}
    arm.call(Trigger, 'follower/reset')
    arm.wait_for_phase(Authority.PHASE_HUMAN)


def test_a_pedal_takes_over_hands_back_and_names_why_afterwards(arm: Arm) -> None:
    arm.wait_for_phase(Authority.PHASE_HUMAN)
    arm.call(Trigger, 'follower/engage_policy')
    arm.wait_for_phase(Authority.PHASE_POLICY)
    arm.wait_for_phase(Authority.PHASE_HUMAN, button=0)
    arm.wait_for_phase(Authority.PHASE_POLICY, button=2)
    arm.press(3)
    wait_until(
        lambda: any(event.event == Intervention.EVENT_LABEL for event in arm.events),
        arm.spin,
        'the label',
    )
    assert {event.trigger for event in arm.events} == {'button'}
    assert len({event.id for event in arm.events}) == 1
    label = arm.events[-1]
    assert (label.kind, label.reason) == ('safety', 'about to collide')


def test_a_push_at_the_wrist_takes_over(arm: Arm) -> None:
    arm.wait_for_phase(Authority.PHASE_HUMAN)
    arm.call(Trigger, 'follower/engage_policy')
    arm.wait_for_phase(Authority.PHASE_POLICY)

    def push(newton: float) -> None:
        message = WrenchStamped()
        message.wrench.force.y = -newton
        arm.wrench.publish(message)
        arm.spin()

    for _ in range(20):
        push(7.0)
    assert not arm.events

    def press_and_release() -> None:
        push(9.0)
        push(0.0)

    wait_until(lambda: bool(arm.events), press_and_release, 'a takeover')
    assert arm.events[0].trigger == 'load'

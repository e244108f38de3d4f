# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Node: catches interventions by every trigger and records them as stamped events."""

from __future__ import annotations

from collections.abc import Callable
import math
import sys

from geometry_msgs.msg import WrenchStamped
import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState, Joy
from std_msgs.msg import Float32
from std_srvs.srv import Trigger as TriggerService
from teleop_flywheel.msg import Authority, Intervention
from teleop_flywheel.srv import LabelIntervention

from teleop_bridge.bus.device import is_arm
from teleop_bridge.exceptions import JointError, RigError
from teleop_bridge.intervention import (
    Event,
    InterventionError,
    InterventionLog,
    LeaderMotionTrigger,
    ThresholdTrigger,
)
from teleop_bridge.joints import select_joints
from teleop_bridge.nodes.convert import to_ns, to_stamp
from teleop_bridge.nodes.health import Health, Report
from teleop_bridge.nodes.marker import InterventionMarker
from teleop_bridge.nodes.parameters import declare, declare_rig
from teleop_bridge.nodes.qos import EVENT, SENSOR
from teleop_bridge.nodes.run import run
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.pedal import NO_BUTTON, pedal, Presses
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig, Role
from teleop_bridge.rig.tasks import DEFAULT_REASONS, load_tasks
from teleop_bridge.vocabulary import Phase, Trigger

REARM_SHARE = 0.8  # of a threshold: where its trigger is ready again


class InterventionNode(Node):
    """Wires triggers to the log and publishes its events; the follower acts on them."""

    def __init__(self) -> None:
        super().__init__('intervention')
        rig = load_rig(declare_rig(self))
        streams = rig.by_role(Role.INTERVENTION)
        if not streams:
            raise RigError(f'{rig.path}: streams: none has the role intervention')
        self._time = NodeClock(self, rig)
        self._operator_id = declare(self, 'operator_id', '', "the operator's pseudonym")
        tasks = declare(self, 'tasks', '', 'path of the tasks file; empty: the usual reasons')
        task = declare(self, 'task', '', 'name of the task; empty: reasons of every task')
        window_s = declare(
            self,
            'label_window_s',
            60.0,
            'how long after its end an intervention can be named, s',
            low=0.0,
            high=3600.0,
        )
        pre_s = declare(
            self,
            'pre_window_s',
            1.0,
            'span before the onset that shows what went wrong, s',
            low=0.0,
            high=30.0,
        )
        self._pre_window = Duration(seconds=pre_s).to_msg()
        self._log = InterventionLog(
            reasons=_reasons(tasks, task), label_window_ns=round(window_s * 1e9)
        )
        self._phase = Phase.HUMAN
        self._converged = True
        self._publisher = self.create_publisher(Intervention, streams[0].topic, EVENT)
        self._marker = InterventionMarker(self)
        for stream in rig.by_role(Role.AUTHORITY):
            self.create_subscription(Authority, stream.topic, self._on_authority, SENSOR)
        self._wire_motion(rig)
        self._wire_load(rig)
        self._wire_wrench(rig)
        self._wire_confidence()
        self._wire_buttons(rig)
        self.create_service(TriggerService, '~/take_over', self._serve(self._take_over_by_service))
        self.create_service(TriggerService, '~/hand_back', self._serve(self._hand_back))
        self.create_service(LabelIntervention, '~/label', self._label)
        self._health = Health(self, self._report)

    def _wire_motion(self, rig: Rig) -> None:
        speed = declare(
            self,
            'leader_speed',
            0.5,
            'speed at which a moved leader takes over, rad/s; 0: never',
            low=0.0,
            high=20.0,
        )
        distance = declare(
            self, 'leader_distance', 0.1, 'how far it must have been moved, rad', low=0.0, high=6.0
        )
        if not speed:
            return
        trigger = LeaderMotionTrigger(speed=speed, distance=distance)
        names = rig.joint_names
        # A leader that follows moves by itself: there, what the hand adds to that counts.
        followed = np.zeros(len(names))

        def on_command(message: JointState) -> None:
            picked = dict(zip(message.name, message.position, strict=True))
            followed[:] = [picked[name] for name in names]

        if any(is_arm(name, 'leader') and 'follow_torque' in d for name, d in rig.devices.items()):
            for stream in rig.by_role(Role.ACTION):
                self.create_subscription(JointState, stream.topic, on_command, SENSOR)

        def on_leader(message: JointState) -> None:
            try:
                picked = select_joints(names, message.name, message.position)
            except JointError:
                return  # the follower names and counts it
            positions = np.array([picked[name] for name in names]) - followed
            if trigger.update(positions, to_ns(message.header.stamp)):
                self._fire(Trigger.LEADER_MOTION)

        for stream in rig.by_role(Role.HUMAN_PROPOSAL):
            self.create_subscription(JointState, stream.topic, on_leader, SENSOR)

    def _wire_load(self, rig: Rig) -> None:
        limit = declare(
            self,
            'load_limit',
            0.0,
            'gripper load that takes over, unit of its stream; 0: never',
            low=0.0,
            high=1000.0,
        )
        if not limit:
            return
        trigger = ThresholdTrigger(high=limit, low=REARM_SHARE * limit)

        def on_load(message: JointState) -> None:
            if message.effort and trigger.update(max(abs(effort) for effort in message.effort)):
                self._fire(Trigger.LOAD)

        for stream in rig.by_role(Role.LOAD):
            self.create_subscription(JointState, stream.topic, on_load, SENSOR)

    def _wire_wrench(self, rig: Rig) -> None:
        limit = declare(
            self,
            'force_limit',
            0.0,
            'force at the wrist that takes over, N; 0: never',
            low=0.0,
            high=1000.0,
        )
        if not limit:
            return
        trigger = ThresholdTrigger(high=limit, low=REARM_SHARE * limit)

        def on_wrench(message: WrenchStamped) -> None:
            force = message.wrench.force
            if trigger.update(math.hypot(force.x, force.y, force.z)):
                self._fire(Trigger.LOAD)

        for stream in rig.by_role(Role.WRENCH):
            self.create_subscription(WrenchStamped, stream.topic, on_wrench, SENSOR)

    def _wire_confidence(self) -> None:
        limit = declare(
            self,
            'confidence_limit',
            0.0,
            "policy's confidence below which it is stopped; 0: never",
            low=0.0,
            high=1.0,
        )
        if not limit:
            return
        trigger = ThresholdTrigger(high=-limit, low=-min(1.0, limit / REARM_SHARE))

        def on_confidence(message: Float32) -> None:
            if trigger.update(-message.data):
                self._fire(Trigger.CONFIDENCE)

        self.create_subscription(Float32, 'policy/confidence', on_confidence, SENSOR)

    def _wire_buttons(self, rig: Rig) -> None:
        declared = pedal(rig)
        actions: dict[int, Callable[[], object]] = {
            declared.take_over: lambda: self._fire(Trigger.BUTTON),
            declared.hand_back: self._hand_back,
        }
        for button, label in declared.labels.items():
            actions[button] = lambda label=label: self._name(label.kind.value, label.reason)
        actions.pop(NO_BUTTON, None)
        presses = Presses()

        def on_joy(message: Joy) -> None:
            for button in presses.update(message.buttons):
                if button in actions:
                    try:
                        actions[button]()
                    except InterventionError as error:
                        self.get_logger().warning(str(error))

        if actions:
            self.create_subscription(Joy, declared.topic, on_joy, SENSOR)

    def _fire(self, trigger: Trigger) -> None:
        """Take over by a trigger that means nothing while the human drives."""
        if self._phase is Phase.POLICY and self._log.open_id is None:
            self._publish(self._log.begin(trigger, self._time.now_ns()))

    def _take_over_by_service(self) -> str:
        event = self._log.begin(Trigger.SERVICE, self._time.now_ns())
        self._publish(event)
        return event.id

    def _hand_back(self) -> str:
        event = self._log.end(self._time.now_ns())
        self._publish(event)
        return event.id

    def _on_authority(self, message: Authority) -> None:
        self._phase = Phase(message.phase)
        if message.converged and not self._converged:
            event = self._log.converged(to_ns(message.header.stamp))
            if event is not None:
                self._publish(event)
        self._converged = message.converged

    def _publish(self, event: Event) -> None:
        message = Intervention(
            id=event.id,
            event=event.event,
            trigger=event.trigger.value,
            kind=event.kind,
            reason=event.reason,
            note=event.note,
            operator_id=self._operator_id,
            pre_window=self._pre_window,
        )
        message.header.stamp = to_stamp(event.stamp_ns)
        self._publisher.publish(message)
        self._marker.show(event)
        named = f' ({event.kind}: {event.reason})' if event.kind else ''
        self.get_logger().info(f'intervention {event.id}: {event.event.name.lower()}{named}')

    @staticmethod
    def _serve(
        act: Callable[[], str],
    ) -> Callable[[TriggerService.Request, TriggerService.Response], TriggerService.Response]:
        def answer(
            _: TriggerService.Request, response: TriggerService.Response
        ) -> TriggerService.Response:
            try:
                response.message, response.success = act(), True
            except InterventionError as error:
                response.message, response.success = str(error), False
            return response

        return answer

    def _report(self) -> Report:
        unnamed = self._log.unnamed
        under_way = self._log.open_id is not None
        line = f'unnamed: {", ".join(unnamed[-3:])}' if unnamed else 'every one is named'
        values = {'under way': self._log.open_id or 'none', 'unnamed': len(unnamed)}
        return under_way or not unnamed, line, values

    def _name(
        self, kind: str, reason: str, *, note: str = '', intervention_id: str = ''
    ) -> Event:
        event = self._log.label(
            intervention_id=intervention_id,
            kind=kind,
            reason=reason,
            note=note,
            now_ns=self._time.now_ns(),
        )
        self._publish(event)
        return event

    def _label(
        self, request: LabelIntervention.Request, response: LabelIntervention.Response
    ) -> LabelIntervention.Response:
        try:
            event = self._name(
                request.kind, request.reason, note=request.note, intervention_id=request.id
            )
        except InterventionError as error:
            response.success, response.message = False, str(error)
            return response
        response.success, response.message, response.id = True, 'labelled', event.id
        return response


def _reasons(tasks_path: str, task: str) -> tuple[str, ...]:
    if not tasks_path:
        return DEFAULT_REASONS
    tasks = load_tasks(tasks_path)
    if task:
        return tasks.task(task).reasons
    return tuple(
        dict.fromkeys(reason for entry in tasks.tasks.values() for reason in entry.reasons)
    )


def main() -> None:
    """Run the node."""
    sys.exit(run(InterventionNode))


if __name__ == '__main__':
    main()

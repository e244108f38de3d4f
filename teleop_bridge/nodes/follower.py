# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Node: blends the human's and the policy's proposals and commands the follower."""

from __future__ import annotations

from collections.abc import Callable
import sys

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from teleop_flywheel.msg import Authority, Intervention
from teleop_flywheel.srv import EndEpisode

from teleop_bridge.bus.device import bus_devices, require_joints
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.exceptions import JointError, RigError
from teleop_bridge.follower import FollowerCore, FollowerOutput
from teleop_bridge.joints import JointMerger, JointSample
from teleop_bridge.latency import Latency
from teleop_bridge.motion_lag import MotionLag
from teleop_bridge.nodes.bus_joints import bus_joints, BusJoints
from teleop_bridge.nodes.convert import to_joint_state, to_ns, to_stamp
from teleop_bridge.nodes.health import Health, Report
from teleop_bridge.nodes.outputs import make_outputs
from teleop_bridge.nodes.parameters import declare, declare_rig
from teleop_bridge.nodes.polled import PolledSubscriptions
from teleop_bridge.nodes.qos import EVENT, LATCHED, SENSOR, STREAM
from teleop_bridge.nodes.refusals import Refusals
from teleop_bridge.nodes.run import run
from teleop_bridge.nodes.session_clock import NodeClock
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig, Role, Stream
from teleop_bridge.vocabulary import InterventionEvent, Phase


def _only(rig: Rig, role: Role) -> Stream:
    streams = rig.by_role(role)
    if len(streams) != 1:
        raise RigError(
            f'{rig.path}: streams: expected one of the role {role.value}, found {len(streams)}'
        )
    return streams[0]


class FollowerNode(Node):
    """Steps a FollowerCore at the rig's control rate.

    An intervention's begin and end move authority; ``~/engage_human`` and ``~/engage_policy`` say
    who drives outside of interventions.
    """

    def __init__(self) -> None:
        super().__init__('follower')
        rig = load_rig(declare_rig(self))
        driver = declare(self, 'driver', 'human', 'who drives at the start: human or policy')
        self._time = NodeClock(self, rig)
        self._core = FollowerCore(rig, human_first=driver != 'policy')
        self._refusals = Refusals(self)
        self._lag = Latency()
        self._motion = MotionLag()
        self._last: FollowerOutput | None = None
        self._human_ns = 0
        self._missed = 0
        self._period_ns = round(NANOSECONDS / rig.follower.rate_hz)
        self._names = rig.joint_names

        action, authority = _only(rig, Role.ACTION), _only(rig, Role.AUTHORITY)
        self._inputs = PolledSubscriptions(self)
        self._commands = self.create_publisher(JointState, action.topic, STREAM)
        self._authority = self.create_publisher(Authority, authority.topic, STREAM)
        self._listen(rig, Role.HUMAN_PROPOSAL, self._on_human)
        self._listen(rig, Role.POLICY_PROPOSAL, self._core.policy)
        self._arms: tuple[BusJoints, ...] = ()
        devices = bus_devices(rig, 'follower')
        if devices:
            require_joints(devices, rig.joint_names, rig)
            merger = JointMerger(rig.joint_names)
            self._arms = bus_joints(
                self, devices, rig, Role.STATE, self._time, lambda s: self._on_bus(merger, s)
            )
            for arm in self._arms:
                arm.arm.set_torque(True)
        else:
            self._listen(rig, Role.STATE, self._on_measured)
        self._outputs = make_outputs(
            self,
            rig,
            self._time,
            period_ns=self._period_ns,
            arms=[arm.arm for arm in self._arms],
        )
        self._robot_stopped = False
        self._watch_protective_stop(rig)
        for stream in rig.by_role(Role.INTERVENTION):
            self.create_subscription(Intervention, stream.topic, self._on_intervention, EVENT)
        for name, action_of in (
            ('estop', self._estop),
            ('reset', self._reset),
            ('engage_human', lambda: self._core.take_over('', self._time.now_ns())),
            ('engage_policy', lambda: self._core.hand_back(self._time.now_ns())),
        ):
            self._serve(name, action_of)
        # in this order: where both are due, the report waits, and has the whole period ahead
        self.create_timer(1.0 / rig.follower.rate_hz, self._step)
        self._health = Health(self, self._report)

    def _listen(self, rig: Rig, role: Role, take: Callable[[JointSample], None]) -> None:
        merger = JointMerger(rig.joint_names, strict=rig.strict_joints)

        def on_message(message: JointState, source: str) -> None:
            try:
                merger.update(message.name, message.position, to_ns(message.header.stamp))
            except JointError as error:
                self._refusals.add(source, error)
                return
            sample = merger.latest()
            if sample is not None:
                take(sample)

        for stream in rig.by_role(role):
            self._inputs.add(
                JointState,
                stream.topic,
                lambda message, source=stream.name: on_message(message, source),
            )

    def destroy_node(self) -> None:
        """Close the buses, if there are any, and end the node: servos keep their last goal."""
        for arm in self._arms:
            arm.close()
        super().destroy_node()

    def _watch_protective_stop(self, rig: Rig) -> None:
        declared = rig.follower.protective_stop
        if declared is None:
            return
        self._end_episode = self.create_client(EndEpisode, 'recorder/end')
        failure = EndEpisode.Request(grade='failure', note="the robot's protective stop")

        def on_status(message: Bool) -> None:
            stopped = message.data is declared.when
            if stopped and not self._robot_stopped:
                self.get_logger().error(
                    "the robot's protective stop: clear it there, then call ~/reset to go on"
                )
                self._core.protective_stop()
                if self._end_episode.service_is_ready():  # the recorder refuses where none runs
                    self._end_episode.call_async(failure)
            self._robot_stopped = stopped

        stream = rig.stream(declared.stream)
        qos = LATCHED if stream.latched else SENSOR
        self.create_subscription(Bool, stream.topic, on_status, qos)

    def _on_bus(self, merger: JointMerger, sample: JointSample) -> None:
        merger.update(sample.names, sample.positions.tolist(), sample.stamp_ns)
        merged = merger.latest()
        if merged is not None:
            self._on_measured(merged)

    def _on_measured(self, sample: JointSample) -> None:
        self._motion.measured(sample.positions, sample.stamp_ns)
        self._core.measured(sample)

    def _serve(self, name: str, act: Callable[[], str | None]) -> None:
        def answer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            refused = act()
            response.success = not refused
            response.message = refused or name.replace('_', ' ')
            return response

        self.create_service(Trigger, f'~/{name}', answer)

    def _on_human(self, sample: JointSample) -> None:
        self._human_ns = sample.stamp_ns
        self._core.human(sample)

    def _on_intervention(self, message: Intervention) -> None:
        if message.event == InterventionEvent.BEGIN:
            self._core.take_over(message.id, self._time.now_ns())
        elif message.event == InterventionEvent.END:
            self._core.hand_back(self._time.now_ns())

    def _estop(self) -> None:
        self.get_logger().error('emergency stop: call ~/reset to go on')
        self._core.estop()

    def _reset(self) -> str | None:
        if self._robot_stopped:
            return 'the robot is in its protective stop: clear it there first'
        self._core.reset()
        return None

    def _step(self) -> None:
        self._inputs.poll()
        now_ns = self._time.now_ns()
        output = self._core.step(now_ns)
        if self._last is not None and now_ns - self._last.stamp_ns > 3 * self._period_ns // 2:
            self._missed += 1
        if output.reason and (self._last is None or self._last.phase is not output.phase):
            self.get_logger().warning(f'{output.phase.name.lower()}: {output.reason}')
        self._last = output
        if output.command is not None:
            command = JointSample(self._names, output.command, now_ns)
            for sink in self._outputs:
                sink.send(command)
            self._commands.publish(to_joint_state(command))
            self._motion.command(output.command, now_ns)
        if output.weight > 0 and self._human_ns:
            self._lag.add(self._time.now_ns() - self._human_ns)
        message = Authority(
            weight=output.weight,
            phase=output.phase,
            source=output.source,
            intervention_id=output.intervention_id,
            converged=output.converged,
            reason=output.reason,
        )
        message.header.stamp = to_stamp(now_ns)
        self._authority.publish(message)

    def _report(self) -> Report:
        last = self._last
        phase = last.phase if last else Phase.HOLD
        well = phase in (Phase.HUMAN, Phase.POLICY, Phase.TO_HUMAN, Phase.TO_POLICY)
        reason = f': {last.reason}' if last and last.reason else ''
        values = {
            'missed periods': self._missed,
            'leader to command p50 ms': f'{self._lag.percentile_ms(50):.2f}',
            'leader to command p99 ms': f'{self._lag.percentile_ms(99):.2f}',
            'command to motion p50 ms': f'{self._motion.latency.percentile_ms(50):.2f}',
            'command to motion p99 ms': f'{self._motion.latency.percentile_ms(99):.2f}',
            **{key: value for arm in self._arms for key, value in arm.values().items()},
            **self._refusals.counts,
        }
        return well and not self._refusals.counts, f'{phase.name.lower()}{reason}', values


def main() -> None:
    """Run the node."""
    sys.exit(run(FollowerNode))


if __name__ == '__main__':
    main()

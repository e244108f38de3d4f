# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The recorder node: wires services, parameters, topics and timers to the controller."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
import json
import os
from pathlib import Path
import sys
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import Int64, String
from std_srvs.srv import Trigger
from teleop_flywheel.msg import EpisodeStatus
from teleop_flywheel.srv import EndEpisode, StartEpisode

from recorder.bag.files import measure_write_rate
from recorder.capture import Capture
from recorder.controller import Controller, Outcome, RecorderOptions
from recorder.exceptions import SessionError
from recorder.facts import check_session_id, EndReason
from recorder.nodes.buttons import Buttons
from recorder.nodes.clock_probe import PONG
from recorder.nodes.clocks import ClockWatch
from recorder.nodes.health import diagnostics, status_message
from recorder.nodes.parameters import declare_options, Options
from recorder.nodes.subscriptions import RawSubscriptions
from recorder.nodes.watcher import TopicWatcher, Wanted
from recorder.resume import History, read_history, recover
from teleop_bridge.clock import SessionClock
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.nodes.qos import EVENT, LATCHED
from teleop_bridge.nodes.run import run
from teleop_bridge.nodes.session_clock import OFFSET_TOPIC
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig
from teleop_bridge.rig.section import read_text
from teleop_bridge.rig.tasks import load_tasks, Task, Tasks
from teleop_bridge.vocabulary import Grade, SessionState

ALWAYS = (
    OFFSET_TOPIC,
    'session/ros_offset',
    'recorder/status',
    'policy/status',
    PONG,
    'tf',
    'tf_static',
    'robot_description',
    '/diagnostics',
)
"""Topics that go into every bag if somebody publishes them, beside the rig's streams."""

_TICK_S = 0.1
_WATCH_S = 0.5
_STATUS_S = 1.0
_GRADES = {
    'end_success': Grade.SUCCESS_FIRST_TRY,
    'end_retries': Grade.SUCCESS_AFTER_RETRIES,
    'end_partial': Grade.PARTIAL,
    'end_failure': Grade.FAILURE,
}


class RecorderNode(Node):
    """Records the rig's streams into a bag per attempt."""

    def __init__(self) -> None:
        """Fix the session's clock, publish it, and start to watch for publishers."""
        super().__init__('recorder')
        options = declare_options(self)
        self._arm_timeout_s = options.arm_timeout_s
        rig = load_rig(options.rig)
        self._tasks = load_tasks(options.tasks) if options.tasks else None
        self._session_clock = SessionClock.from_wall_clock()
        self._offset = self.create_publisher(Int64, OFFSET_TOPIC, LATCHED)
        self._offset.publish(Int64(data=self._session_clock.offset_ns))
        self._ros_offset = self.create_publisher(Int64, 'session/ros_offset', EVENT)
        self._status = self.create_publisher(EpisodeStatus, 'recorder/status', LATCHED)
        self._checkpoint = self.create_publisher(String, 'policy/checkpoint', LATCHED)
        self._asked = ''
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', EVENT)
        capture = Capture(preroll_ns=round(options.preroll_s * 1e9))
        names = {stream.name: self.resolve_topic_name(stream.topic) for stream in rig.streams}
        recorder_options = self._recorder_options(options, rig)
        history = self._history(recorder_options)
        self._controller = Controller(
            recorder_options,
            capture,
            self._session_clock,
            names=names,
            kept=history.kept,
            attempts=history.attempts,
        )
        bound_ns = round(options.clock_bound_ms * 1e6)
        self._clocks = ClockWatch(self, bound_ns=bound_ns)
        self._raw = RawSubscriptions(self, self._session_clock, capture.arrived_batch)
        capture.catch_up = self._raw.catch_up
        self._watcher = TopicWatcher(self, self._wanted(rig, names), capture, self._raw)
        self._controller.problems = self._watcher.problems
        self.create_subscription(String, 'policy/status', self._policy_status, LATCHED)
        self._create_services()
        self.create_timer(_TICK_S, self._tick)
        self.create_timer(_WATCH_S, self._watch)
        self.create_timer(_STATUS_S, self._report)
        self._parent = os.getppid()
        self._publish_status()

    def destroy_node(self) -> None:
        """Close the bag in hand, marked as interrupted, end the session and the node."""
        if self._controller.session.state is not SessionState.STOPPED:
            self._controller.stop(EndReason.INTERRUPTED)
        self._publish_status()
        self._raw.close()
        self._controller.wait_verified()
        self._log_verified()
        super().destroy_node()

    def _recorder_options(self, options: Options, rig: Rig) -> RecorderOptions:
        started = datetime.fromtimestamp(self._session_clock.now_ns() // 10**9, timezone.utc)
        session_id = options.session_id or started.strftime('%Y%m%dT%H%M%SZ')
        task = self._task(options.task)
        person = options.person()
        proposals = options.missing(task)
        if proposals.poses:
            self.get_logger().warning(
                f'{options.proposals}: {proposals.poses} start poses of the robot are left out: '
                'no operator can be asked for them'
            )
        return RecorderOptions(
            rig=rig,
            output=Path(options.output),
            session_id=check_session_id(session_id),
            operator_id=person.pseudonym,
            consent=person.consent,
            kind=options.kind,
            task=task,
            tasks_text=self._tasks.text if self._tasks else '',
            checks_text=read_text(Path(options.checks)) if options.checks else '',
            policy_checkpoint=options.policy_checkpoint,
            storage=options.storage,
            disk_floor=options.disk_floor_mb * 1_000_000,
            plan=options.plan(task, proposals.places),
            trials=options.trials(task, session_id),
            write_rate=measure_write_rate(Path(options.output)),
        )

    def _history(self, options: RecorderOptions) -> History:
        """Recover what an earlier recorder left unfinished in this session."""
        history = read_history(options.output / options.session_id)
        for bag in history.unfinished:
            found = recover(bag)
            if found.error:
                self.get_logger().error(f'not recovered: {found.error}')
            else:
                self.get_logger().warning(f'{found.path}: recovered {found.messages} messages')
        return history

    def _wanted(self, rig: Rig, names: dict[str, str]) -> list[Wanted]:
        wanted = {}
        for stream in rig.streams:
            topic = names[stream.name]
            wanted[topic] = Wanted(
                topic, stream.type, stream.rate_hz, stream.latched, stream.storage
            )
        for name in ALWAYS:
            topic = self.resolve_topic_name(name)
            wanted.setdefault(topic, Wanted(topic))
        return list(wanted.values())

    def _task(self, name: str) -> Task | None:
        if not name:
            return None
        tasks = self._tasks or Tasks({}, path="parameter 'tasks'")
        return tasks.task(name)

    def _create_services(self) -> None:
        self.create_service(StartEpisode, '~/start', self._start)
        self.create_service(EndEpisode, '~/end', self._end)
        commands: dict[str, Callable[[], Outcome]] = {
            'start_trigger': lambda: self._begin(None, '', ''),
            'cancel': self._controller.cancel,
            'next': self._controller.next,
            'stop': self._controller.stop,
        }
        for name, grade in _GRADES.items():
            commands[name] = lambda grade=grade: self._controller.end(grade)
        for name, command in commands.items():
            self.create_service(
                Trigger,
                f'~/{name}',
                lambda request, response, command=command: self._answer(response, command),
            )
        Buttons(
            self,
            {
                name.removesuffix('_trigger'): lambda command=command: self._answer(
                    Trigger.Response(), command
                )
                for name, command in commands.items()
            },
        )

    def _start(
        self, request: StartEpisode.Request, response: StartEpisode.Response
    ) -> StartEpisode.Response:
        return self._answer(
            response, lambda: self._begin(self._task(request.task), request.location, request.note)
        )

    def _end(
        self, request: EndEpisode.Request, response: EndEpisode.Response
    ) -> EndEpisode.Response:
        return self._answer(
            response, lambda: self._controller.end(_grade(request.grade), note=request.note)
        )

    def _answer(self, response: Any, command: Callable[[], Outcome]) -> Any:
        """Carry out a command and fill in whatever response it was asked with."""
        try:
            outcome = command()
            response.success, response.message = True, outcome.message
            if hasattr(response, 'bag'):
                response.bag = str(outcome.bag or '')
            if hasattr(response, 'episode_id'):
                response.episode_id = outcome.episode_id
        except FlywheelError as error:
            response.success, response.message = False, str(error)
            self.get_logger().error(str(error))
        self._publish_status()
        return response

    def _begin(self, task: Task | None, location: str, note: str) -> Outcome:
        """Arm, waiting for streams that are late, and start."""
        state = self._controller.session.state
        if state is SessionState.RECORDING:
            raise SessionError('start: expected the session to be armed, found it recording')
        deadline = time.monotonic() + self._arm_timeout_s
        while faults := self._controller.arm():
            if time.monotonic() > deadline:
                raise SessionError('not armed: ' + '. '.join(map(str, faults)))
            time.sleep(0.05)
            self._watcher.update()
        return self._controller.start(task=task, location=location, note=note)

    def _policy_status(self, message: String) -> None:
        try:
            status = json.loads(message.data)
            self._controller.policy_checkpoint = str(status['checkpoint'])
        except (ValueError, KeyError, TypeError):
            self.get_logger().error(
                f"policy/status: expected JSON with 'checkpoint', found {message.data!r}"
            )

    def _tick(self) -> None:
        try:
            if os.getppid() != self._parent:
                self.get_logger().error('the process that started the recorder is gone: it ends')
                raise ExternalShutdownException  # which closes the bag in hand
            outcome = self._controller.tick()
        except FlywheelError as error:
            self.get_logger().error(str(error))
            outcome = Outcome(str(error))
        if outcome is not None:
            self.get_logger().warning(outcome.message)
            self._publish_status()
        self._log_verified()

    def _watch(self) -> None:
        self._watcher.update()
        state = self._controller.session.state
        if state in (SessionState.IDLE, SessionState.ARMED):
            self._controller.arm()
            if self._controller.session.state is not state:
                self._publish_status()

    def _report(self) -> None:
        self._ros_offset.publish(Int64(data=self._session_clock.wall_drift_ns()))
        message = diagnostics(self._controller, self.get_name())
        message.status += self._clocks.statuses(self.get_name())
        self._diagnostics.publish(message)
        self._publish_status()

    def _publish_status(self) -> None:
        trial = self._controller.trial
        if trial is not None and trial.checkpoint != self._asked:
            self._asked = trial.checkpoint
            self._checkpoint.publish(String(data=trial.checkpoint))
        self._status.publish(status_message(self._controller))

    def _log_verified(self) -> None:
        while self._controller.verified:
            closed, error = self._controller.verified.popleft()
            if error:
                self.get_logger().error(error)
            else:
                self.get_logger().info(f'{closed.path}: saved and verified')


def _grade(text: str) -> Grade:
    try:
        return Grade(text)
    except ValueError:
        grades = ', '.join(grade.value for grade in Grade)
        raise SessionError(f"grade '{text}': expected one of {grades}") from None


def main(args: list[str] | None = None) -> int:
    """Run the recorder node."""
    return run(RecorderNode, args=args)


if __name__ == '__main__':
    sys.exit(main())

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The recorder without a middleware: session, gate, capture and bags put together."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import asdict
import shutil
import threading
from typing import Any

from recorder.calibration import calibration_digests, calibration_faults
from recorder.capture import Capture
from recorder.episode import ClosedEpisode, discard, EpisodeRecorder, verify
from recorder.evaluation import Trial
from recorder.facts import EndReason, SessionFacts, software_version, write_session_file
from recorder.gate import disk_faults, DiskState, Fault, stream_faults
from recorder.options import Outcome, RecorderOptions, Status
from recorder.session import Due, Kept, Session
from recorder.timesync import daemon_state, kernel_sync
from teleop_bridge.clock import NANOSECONDS, SessionClock
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.rig.tasks import Task
from teleop_bridge.vocabulary import Grade, SessionKind, SessionState

_SHOWN_FAULTS = 2  # of those in a message; /diagnostics has all


class Controller:
    """Carries out an operator's commands; each raises FlywheelError where it can't."""

    def __init__(
        self,
        options: RecorderOptions,
        capture: Capture,
        clock: SessionClock,
        *,
        names: dict[str, str] | None = None,
        kept: tuple[Kept, ...] = (),
        attempts: int = 0,
    ) -> None:
        """Begin idle; ``names`` maps the rig's streams to resolved topics."""
        self.options = options
        self.capture = capture
        self.clock = clock
        self.problems: dict[str, str] = {}  # per topic: why it is not subscribed
        self.session = Session(plan=options.plan, kept=kept, attempts=attempts)
        self.policy_checkpoint = options.policy_checkpoint
        self.message = ''
        self.episode: EpisodeRecorder | None = None
        self.last: ClosedEpisode | None = None
        self.verified: deque[tuple[ClosedEpisode, str]] = deque()  # with an error, or ''
        self.names = names or {stream.name: stream.topic for stream in options.rig.streams}
        self._verifying: list[threading.Thread] = []
        self._calibrations = calibration_digests(options.rig)
        self._clock_daemons = daemon_state()

    def faults(self) -> list[Fault]:
        """Return what keeps the session from being armed."""
        reports = self.capture.reports(self.clock.now_ns())
        faults = stream_faults(self.options.rig, self.names, reports, self.problems)
        if self.options.kind is not SessionKind.DRY_RUN:
            faults += disk_faults(self.disk())
        return faults + calibration_faults(
            self._calibrations, calibration_digests(self.options.rig)
        )

    @property
    def trial(self) -> Trial | None:
        """Return the evaluation's trial that is running or next, None outside of one."""
        done = self.session.done
        return self.options.trials[done] if done < len(self.options.trials) else None

    def disk(self) -> DiskState:
        """Return the disk's room against what the streams need for the rest of the plan."""
        rate = sum(r.bytes_per_s for r in self.capture.reports(self.clock.now_ns()))
        plan = self.session.plan
        left = max(plan.target - self.session.done, 0) * plan.episode_limit_ns / NANOSECONDS
        return DiskState(
            self._free(), self.options.disk_floor, rate, self.options.write_rate, seconds=left
        )

    def arm(self) -> list[Fault]:
        """Pass the gate if nothing stands against it, and return what does."""
        faults = self.faults()
        now = self.clock.now_ns()
        state = self.session.state
        if faults:
            if state is SessionState.ARMED:
                self.session.disarm(now)
            more = len(faults) - _SHOWN_FAULTS
            shown = [str(fault) for fault in faults[:_SHOWN_FAULTS]]
            self.message = '. '.join(shown + [f'And {more} more'] * (more > 0))
        elif state in (SessionState.IDLE, SessionState.RESET):
            self.session.arm(now)
            place = self._next_place()
            self.message = f'ready: put the object at {place}' if place else 'ready'
        return faults

    def next_location(self) -> str:
        """Return where the object is to be put next; empty where nothing is asked."""
        return self.trial.location if self.trial else self.session.next_location()

    def start(self, *, task: Task | None = None, location: str = '', note: str = '') -> Outcome:
        """Begin an episode; the session must be armed."""
        now = self.clock.now_ns()
        checkpoint = self.trial.checkpoint if self.trial else self.policy_checkpoint
        own = task is None or task == self.options.task
        location = location or (self.trial.location if self.trial else '')
        attempt = self.session.start(now, location, proposed=own)
        task = task or self.options.task
        extra: dict[str, Any] = {'clock_sync': {**kernel_sync(), **self._clock_daemons}}
        if attempt.proposal:
            extra['proposal'] = {'xy': attempt.proposal.xy, 'near': attempt.proposal.near}
        facts = SessionFacts(
            session_id=self.options.session_id,
            kind=self.options.kind.value,
            operator_id=self.options.operator_id,
            consent=self.options.consent,
            task=task.name if task else '',
            task_text=task.text if task else '',
            location=attempt.location,
            episode_index=attempt.index,
            block=attempt.block,
            clock=self.options.rig.clock.value,
            clock_offset_ns=self.clock.offset_ns,
            software_version=software_version(),
            policy_checkpoint=checkpoint,
            start_ns=now,
            note=note,
            extra=extra,
        )
        files = {
            'rig': self.options.rig.text,
            'tasks': self.options.tasks_text,
            'checks': self.options.checks_text,
        }
        if self.options.kind is SessionKind.DRY_RUN:
            self.message = f'dry run of episode {attempt.index}: nothing is recorded'
            return Outcome(self.message)
        try:
            self.episode = EpisodeRecorder(
                self.options.output,
                self.capture,
                facts,
                storage=self.options.storage,
                files={name: text for name, text in files.items() if text},
            )
        except FlywheelError:
            self.session.cancel(now)
            raise
        write_session_file(self.episode.path.parent, self._session_content())
        where = attempt.proposal or attempt.location
        self.message = f'recording episode {attempt.index}{f" at {where}" if where else ""}'
        return Outcome(self.message, self.episode.path)

    def end(
        self, grade: Grade | None, *, note: str = '', reason: EndReason = EndReason.GRADED
    ) -> Outcome:
        """End the episode and verify its bag in the background.

        One that was broken off for another reason than grade or time stays where it is, but does
        not count.
        """
        now = self.clock.now_ns()
        if not reason.counts:
            attempt = self.session.cancel(now)
            self.message = f'episode {attempt.index} broken off'
            return self._close(now, grade, note, reason)
        kept = self.session.end(now, grade)
        self.message = f'episode {kept.index} ended: {kept.grade or "ungraded"}'
        if self.session.state is SessionState.BREAK:
            self.message += '; take a break'
        elif self.session.complete:
            self.message += '; the plan is complete'
        elif place := self._next_place():
            self.message += f'; next, put the object at {place}'
        return self._close(now, grade, note, reason)

    def cancel(self) -> Outcome:
        """End the episode so that nothing counts, and move its bag to ``discarded/``."""
        now = self.clock.now_ns()
        attempt = self.session.cancel(now)
        episode, self.episode = self.episode, None
        self.message = f'episode {attempt.index} cancelled: record it again'
        if episode is None:
            return Outcome(self.message)
        episode.close(now, reason=EndReason.CANCELLED)
        return Outcome(self.message, discard(episode.path))

    def next(self) -> Outcome:
        """Leave a reset or break."""
        self.session.next(self.clock.now_ns())
        self.arm()
        return Outcome(self.message)

    def stop(self, reason: EndReason = EndReason.STOPPED) -> Outcome:
        """End the session; an episode in hand is closed, ungraded, with the reason."""
        outcome = Outcome('the session is stopped')
        if self.session.state is SessionState.RECORDING:
            outcome = self.end(None, reason=reason)
        self.session.stop(self.clock.now_ns())
        self.message = 'the session is stopped'
        return Outcome(self.message, outcome.bag, outcome.episode_id)

    def tick(self) -> Outcome | None:
        """Do what is due: time limits, a refusing disk, the disk floor; call it at 10 Hz or so."""
        recording = self.session.state is SessionState.RECORDING
        if recording and self.episode is not None:
            if self.episode.writer.error is not None:
                return self.end(None, reason=EndReason.DISK_ERROR)
            if self._free() < self.options.disk_floor:
                return self.end(None, reason=EndReason.DISK_FLOOR)
        due = self.session.tick(self.clock.now_ns())
        if due is Due.EPISODE_OVER:
            return self.end(None, reason=EndReason.TIME_LIMIT)
        if due is not None:
            self.message = due.value
        return None

    def status(self) -> Status:
        """Return the state of session and episode."""
        session, episode = self.session, self.episode
        attempt = session.attempt
        writer = episode.writer if episode else None
        last = self.last.path if self.last else None
        grade = self.last.facts.grade if self.last and attempt is None else ''
        return Status(
            state=session.state,
            since_ns=session.since_ns,
            limit_ns=session.limit_ns,
            location=attempt.location if attempt else self.next_location(),
            episode_index=attempt.index if attempt else max(session.attempts - 1, 0),
            block=session.block,
            done=session.done,
            target=session.plan.target,
            bag=episode.path if episode else last,
            grade=grade,
            messages=writer.messages if writer else 0,
            lost=sum(writer.lost.values()) if writer else 0,
            message=self.message,
        )

    def wait_verified(self, timeout_s: float = 60.0) -> None:
        """Wait for the verifications that are under way."""
        for thread in self._verifying:
            thread.join(timeout_s)
        self._verifying.clear()

    def _session_content(self) -> dict[str, Any]:
        options = self.options
        return {
            'session_id': options.session_id,
            'kind': options.kind.value,
            'operator_id': options.operator_id,
            'consent': options.consent,
            'rig': options.rig.name,
            'task': options.task.name if options.task else '',
            'plan': {**asdict(options.plan), 'targets': dict(options.plan.targets)},
            'trials': [asdict(trial) for trial in options.trials],
            'calibrations': self._calibrations,
            'software_version': software_version(),
        }

    def _next_place(self) -> str:
        """Return in words what ``next_location`` is, or the proposal's coordinates."""
        proposal = self.session.next_proposal()
        location = proposal.near if proposal else self.next_location()
        places = self.options.task.locations if self.options.task else ()
        known = {place.id: place.description for place in places}
        words = str(proposal or location)
        return f'{words} ({known[location]})' if known.get(location) else words

    def _close(self, now_ns: int, grade: Grade | None, note: str, reason: EndReason) -> Outcome:
        episode, self.episode = self.episode, None
        if episode is None:
            return Outcome(self.message)
        closed = self.last = episode.close(now_ns, grade=grade, note=note, reason=reason)
        if closed.error:
            self.message = f'{closed.error}; {reason.value}'
        elif reason is not EndReason.GRADED:
            self.message += f' ({reason.value})'
        self._in_background(lambda: self._verify(closed))
        return Outcome(self.message, closed.path, closed.id)

    def _in_background(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name='verify', daemon=True)
        thread.start()
        self._verifying = [other for other in self._verifying if other.is_alive()] + [thread]

    def _verify(self, closed: ClosedEpisode) -> None:
        try:
            verify(closed, apart=True)
            self.verified.append((closed, ''))
        except FlywheelError as error:
            self.verified.append((closed, str(error)))

    def _free(self) -> int:
        folder = self.options.output
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        return shutil.disk_usage(folder).free

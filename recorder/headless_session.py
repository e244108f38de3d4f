# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Bags of headless attempts: what the recorder node would have written of the live rig."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from recorder.bag.definitions import definition, type_hash
from recorder.bag.topic import TopicInfo
from recorder.capture import Capture
from recorder.episode import ClosedEpisode, EpisodeRecorder
from recorder.facts import SessionFacts, software_version
from recorder.headless import Attempt, Driver, HeadlessRig, Result
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.schema import Rig, Stream
from teleop_bridge.rig.tasks import Task, Tasks
from teleop_bridge.vocabulary import SessionKind

_RESET_NS = 10 * NANOSECONDS  # between two attempts of a session


class HeadlessSession:
    """Records attempts of one operator into bags under ``output/session_id``.

    Session time begins at ``start_ns`` and is simulated: the same attempts give the same bytes.
    """

    def __init__(
        self,
        headless: HeadlessRig,
        rig: Rig,
        tasks: Tasks,
        task: Task,
        *,
        output: Path,
        session_id: str,
        operator_id: str,
        policy_checkpoint: str = '',
        kind: SessionKind = SessionKind.COLLECTION,
        start_ns: int = 1_767_225_600 * NANOSECONDS,
    ) -> None:
        self._headless = headless
        self._rig = rig
        self._files = {'rig': rig.text, 'tasks': tasks.text}
        self._task = task
        self._output = output
        self._session_id = session_id
        self._operator_id = operator_id
        self._policy_checkpoint = policy_checkpoint
        self._kind = kind
        self._now_ns = start_ns
        self._index = 0

    def record(self, attempt: Attempt, *, location: str = '') -> tuple[Result, ClosedEpisode]:
        """Run one attempt and record it; its ``start_ns`` is the session's time.

        Raises BagExistsError and BagWriteError as the recorder does.
        """
        driven = attempt.driver is not Driver.HUMAN
        facts = SessionFacts(
            session_id=self._session_id,
            kind=self._kind.value,
            operator_id=self._operator_id,
            task=self._task.name,
            task_text=self._task.text,
            location=location,
            episode_index=self._index,
            software_version=software_version(),
            policy_checkpoint=self._policy_checkpoint if driven else '',
            start_ns=self._now_ns,
            extra={'headless': asdict(attempt)},
        )
        capture = Capture()
        for stream in self._rig.streams:
            capture.add_topic(_topic(stream), expected_hz=stream.rate_hz)
        recording = EpisodeRecorder(self._output, capture, facts, files=self._files, wait=True)

        def publish(stream: Stream, stamp_ns: int, make: Callable[[], bytes]) -> None:
            capture.arrived(stream.topic, make(), stamp_ns, stamp_ns)

        result = self._headless.run(replace(attempt, start_ns=self._now_ns), publish)
        closed = recording.close(result.end_ns, grade=result.grade)
        self._now_ns = result.end_ns + _RESET_NS
        self._index += 1
        return result, closed


def _topic(stream: Stream) -> TopicInfo:
    return TopicInfo(
        stream.topic,
        stream.type,
        definition(stream.type),
        type_hash=type_hash(stream.type),
        latched=stream.latched,
    )

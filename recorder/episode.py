# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""One episode on the disk: its bag and sidecar, from the start to a verified or discarded end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
import subprocess
import sys

from recorder.bag.background import BackgroundWriter
from recorder.bag.content_id import content_id
from recorder.bag.files import sync_folder, write_error
from recorder.bag.writer import open_bag
from recorder.capture import Capture
from recorder.exceptions import BagCorruptError, RecorderError
from recorder.facts import (
    EndReason,
    episode_name,
    EpisodeFacts,
    SessionFacts,
    to_json,
    write_sidecar,
)
from recorder.health import StreamReport
from teleop_bridge.vocabulary import Grade

DISCARDED = 'discarded'


@dataclass(frozen=True)
class ClosedEpisode:
    """A bag that was closed."""

    path: Path
    id: str  # content id of what was handed to the file, empty if unknown
    session: SessionFacts
    facts: EpisodeFacts
    reports: tuple[StreamReport, ...]
    error: str = ''  # what the disk refused, empty if nothing


class EpisodeRecorder:
    """Records one episode from a Capture into ``output/session_id/name``."""

    def __init__(
        self,
        output: Path,
        capture: Capture,
        session: SessionFacts,
        *,
        files: Mapping[str, str],
        storage: str = '',
        wait: bool = False,
    ) -> None:
        """Open the bag and begin; ``files`` are the texts of rig, tasks and checks.

        ``wait`` lets the producer wait for a slow disk, for a simulation faster than real time.
        Raises BagExistsError, BagWriteError.
        """
        self.session = session
        self.path = (
            output
            / session.session_id
            / episode_name(session.session_id, session.operator_id, session.episode_index)
        )
        self._capture = capture
        facts = {**files, 'session': to_json(session)}
        self.writer = BackgroundWriter(
            open_bag(self.path, custom_data=facts, storage=storage), wait=wait
        )
        write_sidecar(self.path, session=session, state='recording')
        self.start_ns = capture.begin(self.writer, session.start_ns)

    def close(
        self,
        now_ns: int,
        *,
        grade: Grade | None = None,
        note: str = '',
        reason: EndReason = EndReason.GRADED,
    ) -> ClosedEpisode:
        """End the bag with its grade and statistics; what the disk refused is in ``error``."""
        unreported = self._capture.finish(now_ns)
        self.writer.drain()
        lost, spans = self.writer.lost, self.writer.lost_spans
        reports = tuple(
            report.with_unwritten(lost.get(report.topic, 0), spans.get(report.topic))
            for report in unreported
        )
        if self.writer.error is not None:
            reason = EndReason.DISK_ERROR
        facts = EpisodeFacts(
            grade=grade.value if grade else '',
            note=note,
            end_reason=reason.value,
            start_ns=self.start_ns,
            end_ns=now_ns,
            streams=tuple(asdict(report) for report in reports),
        )
        error = str(self.writer.error or '')
        try:
            self.writer.close({'episode': to_json(facts)})
            write_sidecar(
                self.path,
                session=self.session,
                episode=facts,
                state='closed',
                content_id=self.writer.content_id(),
                error=error,
            )
        except RecorderError as failure:
            error = error or str(failure)
        return ClosedEpisode(
            self.path, self.writer.content_id(), self.session, facts, reports, error
        )


def verify(closed: ClosedEpisode, *, apart: bool = False) -> str:
    """Read a closed bag back, compare it with what was handed over, and return its content id.

    Only then the sidecar calls it saved. ``apart`` reads in a process of its own, of low priority,
    so that hashing a gigabyte holds up nothing that is being recorded.
    Raises BagCorruptError where it differs.
    """
    found = _content_id_apart(closed.path) if apart else content_id(closed.path)
    if closed.id and found != closed.id:
        write_sidecar(
            closed.path,
            session=closed.session,
            episode=closed.facts,
            state='failed',
            content_id=found,
            error='content differs from what was recorded',
        )
        raise BagCorruptError(
            f'{closed.path}: expected content {closed.id[:12]} as recorded, '
            f'found {found[:12]} on the disk'
        )
    write_sidecar(
        closed.path,
        session=closed.session,
        episode=closed.facts,
        state='saved',
        content_id=found,
        error=closed.error,
    )
    return found


def _content_id_apart(path: Path) -> str:
    command = [sys.executable, '-m', 'recorder.bag.content_id', str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BagCorruptError(done.stderr.strip() or f'{path}: could not be verified')
    return done.stdout.strip()


def discard(path: Path) -> Path:
    """Move a bag into ``discarded/`` beside it and return its new place."""
    folder = path.parent / DISCARDED
    target = folder / path.name
    try:
        folder.mkdir(exist_ok=True)
        number = 1
        while target.exists():
            number += 1
            target = folder / f'{path.name}_{number}'
        path.rename(target)
        sync_folder(folder)
        sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error
    return target

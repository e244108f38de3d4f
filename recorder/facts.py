# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What travels with an episode beside its messages: facts of the session and of the attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
import json
from pathlib import Path
import re
from typing import Any, TypeVar

from recorder.bag.files import replace_text
from recorder.exceptions import BagCorruptError, SessionError

SESSION_FILE = 'session.json'  # beside the episodes
OFFLOADED = 'offloaded'  # the state of a sidecar whose bag was moved elsewhere
SIDECAR = 'episode.json'  # beside the bag, from its first moment

_UNFIT = re.compile('[^A-Za-z0-9_-]')  # in a file's name, on any disk
_LONGEST_ID = 64

_Facts = TypeVar('_Facts', 'SessionFacts', 'EpisodeFacts')


class EndReason(str, Enum):
    """Why a bag was closed."""

    GRADED = 'graded'  # by the operator
    TIME_LIMIT = 'time_limit'
    CANCELLED = 'cancelled'
    STOPPED = 'stopped'  # the session was stopped
    INTERRUPTED = 'interrupted'  # SIGINT, SIGTERM or a lost parent
    DISK_FLOOR = 'disk_floor'  # closed in time, before the disk was full
    DISK_ERROR = 'disk_error'  # the disk refused; what it took is in the bag
    RECOVERED = 'recovered'  # the recorder died; a later one rebuilt the bag

    @property
    def counts(self) -> bool:
        """Tell whether an episode that ended so counts towards the plan."""
        return self in (EndReason.GRADED, EndReason.TIME_LIMIT)


@dataclass(frozen=True)
class SessionFacts:
    """Known when an episode starts; the custom_data entry ``session``. Times in ns."""

    session_id: str
    kind: str = 'collection'
    operator_id: str = ''  # pseudonym
    consent: bool = True  # the operator agreed that the data is used
    task: str = ''
    task_text: str = ''
    location: str = ''  # id of the location that was asked for
    episode_index: int = 0
    block: int = 0
    clock: str = 'session'
    clock_offset_ns: int = 0  # session time minus monotonic time
    software_version: str = ''
    policy_checkpoint: str = ''
    start_ns: int = 0  # when start was asked, session time
    note: str = ''
    extra: Mapping[str, Any] = field(default_factory=dict)  # clock_sync, proposal (xy, near)


@dataclass(frozen=True)
class EpisodeFacts:
    """Known when an episode has ended; the custom_data entry ``episode``. Times in ns."""

    grade: str = ''
    note: str = ''
    end_reason: str = EndReason.GRADED.value
    start_ns: int = 0
    end_ns: int = 0
    streams: tuple[Mapping[str, Any], ...] = ()  # health.StreamReport as mappings


def to_json(facts: SessionFacts | EpisodeFacts) -> str:
    """Return facts as one line of JSON."""
    return json.dumps(asdict(facts), ensure_ascii=False)


def from_json(kind: type[_Facts], text: str, where: str) -> _Facts:
    """Read facts back, ignoring what a newer version added; BagCorruptError names ``where``."""
    try:
        value = json.loads(text)
        known = {item.name for item in fields(kind)}
        return kind(**{key: item for key, item in value.items() if key in known})
    except (ValueError, TypeError, AttributeError) as error:
        raise BagCorruptError(
            f'{where}: expected {kind.__name__} as JSON, found {error}'
        ) from error


def software_version() -> str:
    """Return the installed version of this package."""
    for name in ('teleop_flywheel', 'recorder'):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return 'source'


def episode_name(session_id: str, operator_id: str, index: int) -> str:
    """Return a bag's name, in which order, session and operator are plain.

    What no file name should hold is replaced, and a long id is cut; the facts keep them whole.
    """
    people = _UNFIT.sub('_', operator_id)[:_LONGEST_ID]
    return '_'.join(part for part in (session_id, people, f'e{index:04d}') if part)


def check_session_id(session_id: str) -> str:
    """Return a session's id, which names its folder; SessionError where it is unfit for that."""
    if not session_id or _UNFIT.search(session_id) or len(session_id) > _LONGEST_ID:
        raise SessionError(
            f"session_id: expected at most {_LONGEST_ID} letters, digits, '-' and '_', "
            f"found '{session_id}'"
        )
    return session_id


def write_sidecar(
    folder: Path,
    *,
    session: SessionFacts,
    state: str,
    episode: EpisodeFacts | None = None,
    **more: Any,
) -> None:
    """Write the sidecar; ``state``: recording, closed, saved (verified), failed or recovered."""
    value = {
        'state': state,
        'session': asdict(session),
        'episode': asdict(episode) if episode else None,
        **more,
    }
    replace_text(folder / SIDECAR, json.dumps(value, indent=1, ensure_ascii=False) + '\n')


def write_session_file(folder: Path, content: Mapping[str, Any]) -> None:
    """Write what a session was asked for beside its episodes, once, when the first one starts."""
    path = folder / SESSION_FILE
    if not path.exists():
        replace_text(path, json.dumps(content, indent=1, ensure_ascii=False) + '\n')


def read_sidecar(folder: Path) -> dict[str, Any]:
    """Return the sidecar's content, empty where there is none; BagCorruptError."""
    path = folder / SIDECAR
    try:
        value = json.loads(path.read_text(encoding='utf-8'))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BagCorruptError(f'{path}: expected JSON, found {error}') from error
    if not isinstance(value, dict):
        raise BagCorruptError(f'{path}: expected a mapping, found {type(value).__name__}')
    return value

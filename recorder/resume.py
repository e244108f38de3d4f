# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A session's folder told back: what counts, what was left unfinished and gets recovered."""

from __future__ import annotations

from dataclasses import dataclass
import json
from pathlib import Path
import re
import shutil

from recorder.bag.content_id import content_id, has_blake3
from recorder.bag.metadata import FILE_NAME
from recorder.bag.salvage import salvage, Salvaged
from recorder.episode import DISCARDED
from recorder.exceptions import RecorderError
from recorder.facts import (
    EndReason,
    EpisodeFacts,
    from_json,
    OFFLOADED,
    read_sidecar,
    SessionFacts,
    SIDECAR,
    to_json,
    write_sidecar,
)
from recorder.session import Kept

RECOVERED = '_recovered'  # ends the name of a rebuilt bag, beside the original


@dataclass(frozen=True)
class History:
    """What a session's folder holds."""

    kept: tuple[Kept, ...] = ()
    attempts: int = 0  # numbers used so far, cancelled ones included
    unfinished: tuple[Path, ...] = ()  # bags that nobody closed and nobody recovered yet


@dataclass(frozen=True)
class Recovery:
    """A recovered bag, or why there is none."""

    original: Path
    path: Path | None
    messages: int = 0
    error: str = ''


def read_history(folder: Path) -> History:
    """Return what a session recorded so far; BagCorruptError for a broken sidecar."""
    kept, unfinished, attempts = [], [], 0
    for bag in _bags(folder):
        sidecar = read_sidecar(bag)
        attempts = max(attempts, _index(bag) + 1)
        if bag.parent.name == DISCARDED or bag.name.endswith(RECOVERED):
            continue
        state = sidecar.get('state', 'recording')
        whole = (bag / FILE_NAME).is_file() or state == OFFLOADED
        if state == 'recording' or not whole:
            if not (bag.with_name(bag.name + RECOVERED) / SIDECAR).exists():
                unfinished.append(bag)
            continue
        session, facts = sidecar.get('session') or {}, sidecar.get('episode') or {}
        if EndReason(facts.get('end_reason', EndReason.RECOVERED.value)).counts:
            proposal = (session.get('extra') or {}).get('proposal')
            kept.append(
                Kept(
                    _index(bag),
                    session.get('location', ''),
                    facts.get('grade', ''),
                    tuple(proposal['xy']) if proposal else None,
                )
            )
    kept.sort(key=lambda episode: episode.index)
    return History(tuple(kept), attempts, tuple(unfinished))


def recover(bag: Path) -> Recovery:
    """Rebuild an unfinished bag beside the original, verify it by re-reading and mark it."""
    target = bag.with_name(bag.name + RECOVERED)
    try:
        if target.is_dir() and not (target / SIDECAR).exists():
            shutil.rmtree(target)  # a recovery that was itself cut short: only a copy
        found = salvage(bag, target, describe=lambda found: {'episode': to_json(_facts(found))})
        number = content_id(target) if has_blake3() else ''
        sidecar = read_sidecar(bag)
        session = from_json(
            SessionFacts,
            found.custom_data.get('session')
            or json.dumps(sidecar.get('session') or {'session_id': bag.parent.name}),
            str(bag),
        )
        write_sidecar(
            target,
            session=session,
            episode=_facts(found),
            state='recovered',
            content_id=number,
            original=bag.name,
            lost_bytes=found.lost_bytes,
            damaged_chunks=found.damaged_chunks,
        )
    except RecorderError as error:
        return Recovery(bag, None, error=str(error))
    return Recovery(bag, target, sum(found.counts.values()))


def _bags(folder: Path) -> list[Path]:
    return sorted(
        {
            path.parent
            for place in (folder, folder / DISCARDED)
            for name in ('*.mcap', SIDECAR)
            for path in place.glob(f'*/{name}')
        }
    )


def _index(bag: Path) -> int:
    found = re.search(r'_e(\d+)(_|$)', bag.name)
    return int(found.group(1)) if found else -1


def _facts(found: Salvaged) -> EpisodeFacts:
    streams = tuple(
        {'topic': topic, 'received': count, 'unwritten': found.lost.get(topic, 0)}
        for topic, count in sorted(found.counts.items())
    )
    return EpisodeFacts(
        end_reason=EndReason.RECOVERED.value,
        start_ns=found.first_ns,
        end_ns=found.last_ns,
        streams=streams,
    )

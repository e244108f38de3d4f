# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Moves bags to another disk or host: copied, verified there by id, only then freed here."""

from __future__ import annotations

from dataclasses import dataclass
import json
import os
from pathlib import Path
import shlex
import shutil
import subprocess

from recorder.bag.content_id import content_id
from recorder.bag.files import replace_text, sync_folder, write_error
from recorder.episode import DISCARDED
from recorder.exceptions import BagCorruptError, BagExistsError, BagWriteError
from recorder.facts import OFFLOADED, read_sidecar, SESSION_FILE, SIDECAR

PART = '.part'  # ends a copy's name until it is verified


@dataclass(frozen=True)
class Offloaded:
    """A bag that is at its target, byte for byte as here."""

    source: Path
    target: str
    id: str
    copied: bool  # false where it was there already
    freed: bool


def offload(bag: Path, target: str, *, free: bool = False) -> Offloaded:
    """Copy a bag's folder to ``FOLDER`` or ``HOST:FOLDER``, under its session's name.

    A host is reached by ssh and must have flywheel installed. With ``free`` the source is removed
    once the copy's id, read back there, equals the source's; its sidecar stays and says where the
    bag went, so that the session's counts and numbers go on.
    Raises BagCorruptError, BagExistsError, BagWriteError; the source is then untouched.
    """
    number = content_id(bag)
    host, _, folder = target.rpartition(':')
    place = f'{folder}/{bag.parent.name}/{bag.name}'
    copied = _to_host(bag, host, place, number) if host else _to_folder(bag, Path(place), number)
    _bring_session_file(bag.parent / SESSION_FILE, host, f'{folder}/{bag.parent.name}')
    where = f'{host}:{place}' if host else place
    if free:
        _free(bag, where)
    return Offloaded(bag, where, number, copied, free)


def discarded(folder: Path) -> list[Path]:
    """Return the cancelled bags of a session's folder, or of all sessions under it."""
    return sorted(
        path
        for place in folder.glob(f'**/{DISCARDED}')
        if place.is_dir()
        for path in place.iterdir()
        if path.is_dir()
    )


def _bring_session_file(source: Path, host: str, folder: str) -> None:
    """Copy what the session was asked for beside its bags, over an earlier copy."""
    if not source.is_file():
        return
    text = source.read_text(encoding='utf-8')
    if host:
        _ssh(host, f'cat > {shlex.quote(f"{folder}/{source.name}")}', text)
    else:
        replace_text(Path(folder) / source.name, text)


def _free(bag: Path, where: str) -> None:
    sidecar = read_sidecar(bag)
    if sidecar:
        sidecar.update(state=OFFLOADED, offloaded_to=where)
        replace_text(bag / SIDECAR, json.dumps(sidecar, indent=1, ensure_ascii=False) + '\n')
        for path in bag.iterdir():
            if path.name != SIDECAR:
                path.unlink()
        sync_folder(bag)
    else:
        shutil.rmtree(bag)
    sync_folder(bag.parent)


def _to_folder(bag: Path, place: Path, number: str) -> bool:
    if place.exists():
        _same(content_id(place), number, str(place), bag)
        return False
    part = place.with_name(place.name + PART)
    try:
        shutil.rmtree(part, ignore_errors=True)  # what an earlier, interrupted copy left
        part.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(bag, part)
        for path in part.rglob('*'):
            if path.is_file():
                with open(path, 'rb') as file:
                    os.fsync(file.fileno())
        sync_folder(part)
    except (OSError, shutil.Error) as error:
        cause = error if isinstance(error, OSError) and error.errno else OSError(0, str(error))
        raise write_error(part, cause) from error
    try:
        _same(content_id(part), number, str(part), bag)
    except BagCorruptError:
        shutil.rmtree(part)
        raise
    part.rename(place)
    sync_folder(place.parent)
    return True


def _to_host(bag: Path, host: str, place: str, number: str) -> bool:
    there = _ssh(host, f'test ! -e {shlex.quote(place)} || echo exists')
    if there.strip():
        _same(_id_there(host, place), number, f'{host}:{place}', bag)
        return False
    part = place + PART
    quoted = shlex.quote(part)
    pack = subprocess.Popen(['tar', '-C', str(bag), '-cf', '-', '.'], stdout=subprocess.PIPE)
    unpack = f'rm -rf {quoted} && mkdir -p {quoted} && tar -C {quoted} -xf - && sync'
    done = subprocess.run(
        ['ssh', host, unpack], stdin=pack.stdout, capture_output=True, text=True, check=False
    )
    if pack.wait() or done.returncode:
        raise BagWriteError(f'{host}:{part}: could not copy, {done.stderr.strip()}')
    _same(_id_there(host, part), number, f'{host}:{part}', bag)
    _ssh(host, f'mv {quoted} {shlex.quote(place)} && sync')
    return True


def _id_there(host: str, place: str) -> str:
    answer = _ssh(host, f'flywheel info --json --id {shlex.quote(place)}')
    try:
        return str(json.loads(answer)[0]['id'])
    except (ValueError, LookupError, TypeError) as error:
        raise BagCorruptError(
            f'{host}:{place}: expected its content id from flywheel info, found {answer[:80]!r}'
        ) from error


def _ssh(host: str, command: str, text: str = '') -> str:
    done = subprocess.run(
        ['ssh', host, command], input=text, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BagWriteError(f'{host}: could not run {command.split()[0]}, {done.stderr.strip()}')
    return done.stdout


def _same(found: str, expected: str, place: str, bag: Path) -> None:
    if found != expected:
        raise BagExistsError(
            f'{place}: expected the content of {bag} ({expected[:12]}), '
            f'found {found[:12]}; nothing is removed'
        )

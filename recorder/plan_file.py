# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A plan file: all that starts a session of one rig, for an operator who is no programmer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

from recorder.facts import SESSION_FILE
from recorder.resume import read_history
from teleop_bridge.rig.bringup import Parameter
from teleop_bridge.rig.section import parse_yaml, read_text
from teleop_bridge.vocabulary import SessionKind

_WHOLE = ('episodes_per_block', 'blocks', 'repeats', 'disk_floor_mb')
_NUMBERS = ('break_s', 'episode_limit_s', 'reset_limit_s', 'preroll_s')


@dataclass(frozen=True)
class PlanFile:
    """What the file names; paths are absolute, ``recorder`` holds that node's parameters."""

    path: Path
    rig: str
    task: str
    tasks: str
    checks: str
    operators: str
    output: Path
    simulated: bool
    recorder: Mapping[str, Parameter]


@dataclass(frozen=True)
class Unfinished:
    """A session whose plan is not fulfilled."""

    session_id: str
    done: int
    target: int


def load_plan_file(path: Path) -> PlanFile:
    """Read a plan file; paths in it are relative to it. Raises RigError."""
    top = parse_yaml(read_text(path), str(path))
    folder = path.absolute().parent

    def file(key: str, *default: str) -> str:
        name = top.text(key, *default)
        return str(folder / Path(name).expanduser()) if name else ''

    parameters: dict[str, Parameter] = {
        'session_kind': top.choice('kind', SessionKind, SessionKind.COLLECTION).value
    }
    for key in _WHOLE:
        if (value := top.whole(key, -1)) >= 0:
            parameters[key] = value
    for key in _NUMBERS:
        if (number := top.number(key, None, low=0)) is not None:
            parameters[key] = number
    if proposals := file('proposals', ''):
        parameters['proposals'] = proposals
    if checkpoints := top.texts('checkpoints'):
        parameters['checkpoints'] = list(checkpoints)
    plan = PlanFile(
        path=path.absolute(),
        rig=file('rig'),
        task=top.text('task', ''),
        tasks=file('tasks', ''),
        checks=file('checks', ''),
        operators=file('operators', ''),
        output=Path(file('output', 'bags')),
        simulated=top.flag('simulated', False),
        recorder=parameters,
    )
    top.done()
    return plan


def unfinished_session(plan: PlanFile, pseudonym: str) -> Unfinished | None:
    """Return the operator's newest session if it is of this task and its plan is not fulfilled."""
    for path in sorted(plan.output.glob(f'*/{SESSION_FILE}'), reverse=True):
        content = _content(path)
        if content.get('operator_id', '') != pseudonym:
            continue
        sizes = content.get('plan') or {}
        target = sizes.get('episodes_per_block', 0) * sizes.get('blocks', 0)
        done = len(read_history(path.parent).kept)
        same = (content.get('task'), content.get('kind')) == (
            plan.task,
            plan.recorder['session_kind'],
        )
        return Unfinished(path.parent.name, done, target) if same and done < target else None
    return None


def desktop_entry(plan: PlanFile, command: list[str], environment: Mapping[str, str]) -> str:
    """Return a desktop entry that starts the plan in a terminal, in this environment.

    Format: https://specifications.freedesktop.org/desktop-entry-spec/1.5/
    """
    words = ['env', *(f'{key}={value}' for key, value in environment.items())]
    words += ['sh', '-c', '"$@"; printf "press Enter to close "; read line', 'sh', *command]
    return (
        '[Desktop Entry]\nType=Application\n'
        f'Name=Record: {plan.path.stem.replace("_", " ")}\n'
        'Comment=Record episodes of robot teleoperation\n'
        f'Exec={" ".join(map(_quoted, words))}\nTerminal=true\nCategories=Science;Robotics;\n'
    )


def _quoted(word: str) -> str:
    # an argument in double quotes, in which the key's own escapes are undone first
    for sign in ('\\', '"', '`', '$'):
        word = word.replace(sign, f'\\{sign}')
    return '"' + word.replace('\\', '\\\\').replace('%', '%%') + '"'


def _content(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}

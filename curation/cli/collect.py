# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""``flywheel collect``: one command or desktop icon for a rig, its recorder and console."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.util import find_spec
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time
from types import FrameType

from curation.cli.exits import Exit
from curation.cli.output import Output
from curation.demo.children import Children
from curation.exceptions import ChildError, UsageError
from recorder.bag.files import replace_text
from recorder.operators import find_operator, read_operators
from recorder.plan_file import desktop_entry, load_plan_file, PlanFile, unfinished_session
from teleop_bridge.exceptions import MissingDependencyError
from teleop_bridge.rig import bringup
from teleop_bridge.rig.bringup import Parameter, Process
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.schema import Rig

_ENVIRONMENT = (
    'PATH', 'PYTHONPATH', 'LD_LIBRARY_PATH', 'AMENT_PREFIX_PATH', 'ROS_DISTRO', 'ROS_VERSION',
    'ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'RMW_IMPLEMENTATION', 'MUJOCO_GL',
)  # fmt: skip
_WATCH_S = 0.5
_PATIENCE_S = 5.0

Ask = Callable[[str], str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument('plan', type=Path, help='plan file: rig, task, blocks, breaks')
    parser.add_argument('--operator', default='', help='name in the operators file (it asks)')
    parser.add_argument('--desktop', action='store_true', help='make a desktop icon for this plan')


def run(arguments: argparse.Namespace, output: Output) -> Exit:
    """Ask who records, offer to continue, start everything and show the console until it ends."""
    plan = load_plan_file(arguments.plan)
    if arguments.desktop:
        return _make_icon(plan, output)
    return _collect(plan, arguments.operator, output)


def choose_operator(names: Sequence[str], ask: Ask = input) -> str:
    """Ask until one of the names, or its number, is given; UsageError without an answer."""
    listed = ''.join(f'  {number}  {name}\n' for number, name in enumerate(names, 1))
    while True:
        try:
            answer = ask(f'Who is recording?\n{listed}number or name: ').strip()
        except EOFError:
            raise UsageError('--operator: expected a name, found no terminal to ask in') from None
        if answer in names:
            return answer
        if answer.isdigit() and 1 <= int(answer) <= len(names):
            return names[int(answer) - 1]


def choose_session(plan: PlanFile, pseudonym: str, ask: Ask = input) -> str:
    """Return the id of the session to record: an unfinished one if the operator continues it."""
    if found := unfinished_session(plan, pseudonym):
        question = f'Continue session {found.session_id}, {found.done} of {found.target} episodes'
        try:
            if ask(f'{question}? [Y/n] ').strip().lower() not in ('n', 'no'):
                return found.session_id
        except EOFError:
            pass
    return datetime.now().strftime('%Y%m%dT%H%M%S')


def processes(plan: PlanFile, rig: Rig, facts: dict[str, Parameter]) -> list[Process]:
    """Return our nodes of a session: those the rig needs, the recorder's with the plan's facts."""
    common = {'tasks': plan.tasks, 'task': plan.task, 'checks': plan.checks}
    started = [*bringup.cameras(rig), *bringup.driving(rig, tasks=plan.tasks)]
    if plan.simulated:
        started = [*bringup.simulation(rig, tasks=plan.tasks), *started]
    if rig.cameras:
        frames = str(plan.output / 'references')
        started.append(Process('reference', 'reference', {'rig': rig.path, 'references': frames}))
    for process in bringup.recording(rig, output=str(plan.output), **common):
        own = {**plan.recorder, **facts} if process.name == 'recorder' else {}
        started.append(replace(process, parameters={**process.parameters, **own}))
    return started


def _collect(plan: PlanFile, operator: str, output: Output) -> Exit:
    if find_spec('rclpy') is None:
        raise MissingDependencyError('recording needs ROS 2 Jazzy: source it, or use scripts/run')
    if not sys.stdin.isatty():
        raise UsageError('collect: expected a terminal for its console, found none')
    rig = load_rig(plan.rig)
    facts: dict[str, Parameter] = {}
    pseudonym = ''
    if plan.operators:
        file = Path(plan.operators)
        name = operator or choose_operator(sorted(read_operators(file)))
        pseudonym = find_operator(file, name).pseudonym
        facts = {'operators': plan.operators, 'operator': name}
    elif operator:
        pseudonym = operator
        facts = {'operator_id': operator}
    facts['session_id'] = choose_session(plan, pseudonym)
    logs = plan.output / 'logs' / str(facts['session_id'])
    output.line(f'starting {rig.name}; what its programs say goes to {logs}')
    end_in_order()
    with Children(logs=logs, environment={**os.environ, 'PYTHONUNBUFFERED': '1'}) as children:
        for name, command in _included(rig):
            children.run(name, command)
        for process in processes(plan, rig, facts):
            children.start(process)
        code = _console(children)
        for complaint in children.stop():
            output.note(complaint)
    if code:
        return Exit.BAD_DATA
    output.line(f'the session is in {plan.output / str(facts["session_id"])}')
    return Exit.OK


def _included(rig: Rig) -> list[tuple[str, list[str]]]:
    """Return the commands that start other packages' launch files."""
    if rig.launch and shutil.which('ros2') is None:
        raise MissingDependencyError(
            f"{rig.path}: launch: expected the program ros2 to start {rig.launch[0].package}'s "
            'launch file, found none: source ROS 2 Jazzy'
        )
    return [
        (
            f'{entry.package}_{number}',
            ['ros2', 'launch', entry.package, entry.file]
            + [f'{key}:={value}' for key, value in entry.arguments.items()],
        )
        for number, entry in enumerate(rig.launch)
    ]


def end_in_order() -> None:
    """Let a closed window, and SIGTERM, end everything as Ctrl-C does."""
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, _interrupt)


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _console(children: Children) -> int:
    """Show the console until the operator leaves it, and return its exit code.

    ChildError if a program ends before.
    """
    console = subprocess.Popen([sys.executable, '-m', 'recorder.nodes.console'])
    try:
        while console.poll() is None:
            children.check()
            time.sleep(_WATCH_S)
        return console.returncode
    except ChildError as error:
        raise ChildError(f'{error}. Start again: the session continues') from error
    except KeyboardInterrupt:
        return 0  # the console has met the same Ctrl-C
    finally:
        console.terminate()
        console.wait(_PATIENCE_S)


def _make_icon(plan: PlanFile, output: Output) -> Exit:
    """Write a desktop entry where the desktop's menu finds it."""
    data = Path(os.environ.get('XDG_DATA_HOME') or Path.home() / '.local/share')
    path = data / 'applications' / f'teleop_flywheel_{plan.path.stem}.desktop'
    command = [sys.executable, '-m', 'curation.cli.main', 'collect', str(plan.path)]
    environment = {key: os.environ[key] for key in _ENVIRONMENT if os.environ.get(key)}
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, desktop_entry(plan, command, environment))
    output.line(f'{path}: the desktop\'s menu now has "Record: {plan.path.stem}"')
    output.document({'desktop_entry': str(path)})
    return Exit.OK

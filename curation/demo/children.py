# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Child processes that live and end with us: logs in a folder, a death is one clear error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
import signal
import subprocess
import sys
import time
from types import TracebackType

import yaml

from curation.exceptions import ChildError
from teleop_bridge.rig.bringup import Process

PATIENCE_S = (30.0, 5.0, 5.0)  # after SIGINT a recorder closes its bag; then SIGTERM, SIGKILL
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


class Children:
    """Nodes as child processes; use as a context manager, which ends them all."""

    def __init__(self, *, logs: Path, environment: Mapping[str, str]) -> None:
        """Keep each node's parameters and output in the folder ``logs``, made if need be."""
        self.logs = logs
        self._environment = dict(environment)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        logs.mkdir(parents=True, exist_ok=True)

    def start(self, process: Process) -> None:
        """Start one node with this interpreter."""
        parameters = self.logs / f'{process.name}.yaml'
        content = {'/**': {'ros__parameters': dict(process.parameters)}}
        parameters.write_text(yaml.safe_dump(content), encoding='utf-8')
        command = [sys.executable, '-m', process.module, '--ros-args']
        command += ['-r', f'__node:={process.name}', '--params-file', str(parameters)]
        self.run(process.name, command)

    def run(self, name: str, command: Sequence[str]) -> None:
        """Start any other program under a name of its own."""
        with self._log(name).open('wb') as log:
            # a session of its own: the terminal's Ctrl-C reaches only us, and we end it in order
            self._running[name] = subprocess.Popen(
                command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def check(self) -> None:
        """Raise ChildError, naming the node and its log, if one has ended."""
        for name, child in self._running.items():
            if (code := child.poll()) is not None:
                raise self._death(name, code)

    def stop(self) -> list[str]:
        """End every node, gently first; return what is worth telling of those that resisted."""
        children, self._running = self._running, {}
        complaints = []
        for number, patience in zip(SIGNALS, PATIENCE_S, strict=True):
            waiting = {name: child for name, child in children.items() if child.poll() is None}
            if number is not signal.SIGINT:
                complaints += [f'{name} did not end, {number.name} sent' for name in waiting]
            for child in waiting.values():
                child.send_signal(number)
            deadline = time.monotonic() + patience
            for child in waiting.values():
                try:
                    child.wait(max(0.0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    break
        complaints += [
            str(self._death(name, child.returncode))
            for name, child in children.items()
            if child.returncode not in (0, -signal.SIGTERM, -signal.SIGKILL)
        ]
        return complaints

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _log(self, name: str) -> Path:
        return self.logs / f'{name}.log'

    def _death(self, name: str, code: int) -> ChildError:
        how = f'exit code {code}' if code >= 0 else signal.Signals(-code).name
        lines = self._log(name).read_text(encoding='utf-8', errors='replace').split('\n')
        last = next((line.strip() for line in reversed(lines) if line.strip()), 'nothing')
        return ChildError(
            f"{name} ended ({how}) while it was needed; it last said '{last}' ({self._log(name)})"
        )

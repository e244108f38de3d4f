# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that is driven through a pipe by its DevTools protocol."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
import json
import os
from pathlib import Path
import shutil
import subprocess
import tempfile
import time
from typing import Any

import pytest

NAMES = ('chromium', 'chromium-browser', 'google-chrome')
_PATIENCE_S = 60.0


class Browser:
    """One page of a running browser; ``errors`` are what its console complained of."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = os.fdopen(answers, 'rb')
        self._number = 0
        self._session = ''
        self.errors: list[str] = []
        self.loads = 0
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        attached = self.call('Target.attachToTarget', targetId=target, flatten=True)
        self._session = attached['sessionId']
        for domain in ('Runtime', 'Page', 'Log'):
            self.call(f'{domain}.enable')

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method and return its result; RuntimeError as the browser says."""
        self._number += 1
        message = {'id': self._number, 'method': method, 'params': parameters}
        if self._session:
            message['sessionId'] = self._session
        os.write(self._commands, json.dumps(message).encode() + b'\0')
        while True:
            answer = self._read()
            if answer.get('id') == self._number:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]["message"]}')
                return answer['result']

    def open(self, page: Path) -> None:
        """Load a page from disk and wait until it has."""
        loads = self.loads
        self.call('Page.navigate', url=page.resolve().as_uri())
        self.wait(lambda: self.loads > loads)

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.call('Runtime.evaluate', expression=script, returnByValue=True,
                          awaitPromise=True)
        if 'exceptionDetails' in found:
            raise RuntimeError(str(found['exceptionDetails']))
        return found['result'].get('value')

    def until(self, script: str) -> None:
        """Wait until an expression is true."""
        self.wait(lambda: bool(self.run(script)))

    def wait(self, done: Any) -> None:
        """Wait until something that the browser tells becomes true."""
        deadline = time.monotonic() + _PATIENCE_S
        while not done():
            if time.monotonic() > deadline:
                raise TimeoutError('the page did not come to it')
            self.call('Runtime.evaluate', expression='0')
            time.sleep(0.02)

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag the mouse from one point of the window to another, in pixels."""
        middle = (begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2
        self._mouse('mouseMoved', begin)
        self._mouse('mousePressed', begin)
        for point in (middle, end):
            self._mouse('mouseMoved', point)
        self._mouse('mouseReleased', end)

    def picture(self, path: Path, *, height: int = 1400) -> None:
        """Save a picture of the page."""
        clip = {'x': 0, 'y': 0, 'width': 1280, 'height': height, 'scale': 1}
        shot = self.call('Page.captureScreenshot', clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot['data']))

    def _mouse(self, what: str, at: tuple[float, float]) -> None:
        self.call('Input.dispatchMouseEvent', type=what, x=at[0], y=at[1], button='left',
                  buttons=0 if what == 'mouseReleased' else 1, clickCount=1)

    def _read(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self._answers.read(1)) != b'\0':
            if not byte:
                raise RuntimeError('the browser has gone')
            data += byte
        message: dict[str, Any] = json.loads(data)
        method, told = message.get('method'), message.get('params', {})
        if method == 'Page.loadEventFired':
            self.loads += 1
        elif method == 'Runtime.exceptionThrown':
            self.errors.append(str(told['exceptionDetails']))
        elif method == 'Log.entryAdded' and told['entry']['level'] in ('error', 'warning'):
            self.errors.append(told['entry']['text'])
        elif method == 'Runtime.consoleAPICalled' and told['type'] in ('error', 'assert'):
            self.errors.append(str(told['args']))
        return message


@contextmanager
def browser() -> Iterator[Browser]:
    """Start a browser without network; skips where there is none."""
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium (Debian's package)")
    profile = tempfile.mkdtemp(prefix='chromium')
    to_browser, from_us = os.pipe()
    to_us, from_browser = os.pipe()
    # the browser reads descriptor 3 and writes 4, whatever numbers the pipes have here
    bridge = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$0" "$@"'
    command = [
        'bash', '-c', bridge, program, '--headless=new', '--no-sandbox', '--disable-gpu',
        '--remote-debugging-pipe', f'--user-data-dir={profile}', '--window-size=1280,1000',
        '--proxy-server=127.0.0.1:9', '--disable-dev-shm-usage', '--no-first-run',
    ]  # fmt: skip
    process = subprocess.Popen(
        command, pass_fds=(to_browser, from_browser), stderr=subprocess.DEVNULL
    )
    os.close(to_browser)
    os.close(from_browser)
    try:
        yield Browser(from_us, to_us)
    finally:
        process.terminate()
        process.wait(30)
        os.close(from_us)
        shutil.rmtree(profile, ignore_errors=True)

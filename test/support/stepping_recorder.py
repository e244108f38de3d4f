# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The recorder node, whose wall clock steps at SIGUSR1: `stepping_recorder.py SECONDS …`.

Every reading of the wall clock in Python steps; the middleware's own stamps do not.
"""

from __future__ import annotations

import signal
import sys
import time

from recorder.nodes.recorder import main


def step_at_signal(step_ns: int) -> None:
    """Let the clock step at the signal."""
    real, offset_ns = time.time_ns, 0

    def step(*_: object) -> None:
        nonlocal offset_ns
        offset_ns += step_ns

    signal.signal(signal.SIGUSR1, step)
    time.time_ns = lambda: real() + offset_ns


if __name__ == '__main__':
    step_at_signal(int(sys.argv[1]) * 10**9)
    sys.exit(main(sys.argv[2:]))

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""One way to run a node: clean ends on SIGINT and SIGTERM, one line for an ordinary mistake."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import gc
from pathlib import Path
import signal
import sys
from types import FrameType

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from teleop_bridge.exceptions import FlywheelError


def run(
    make_node: Callable[[], Node],
    *,
    args: Sequence[str] | None = None,
    make_executor: Callable[[], Executor] = SingleThreadedExecutor,
) -> int:
    """Make the node, spin it until a signal comes, destroy it; return the process's exit code.

    Signals after the first are ignored: a second Ctrl-C must not cut short the closing of a bag.
    """
    stopping = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    node: Node | None = None
    try:
        node = make_node()
        executor = make_executor()
        executor.add_node(node)
        gc.collect()
        gc.freeze()  # what was loaded stays: going through it takes 10 ms, in mid-motion
        while not stopping:
            executor.spin_once(timeout_sec=0.1)
        return 0
    except ExternalShutdownException:
        return 0
    except FlywheelError as error:
        name = node.get_name() if node else Path(sys.argv[0]).stem
        print(f'{name}: {error}', file=sys.stderr, flush=True)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Asks the clock probes of other machines for the time and tells what comes of it."""

from __future__ import annotations

import time

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from rclpy.node import Node
from std_msgs.msg import Int64MultiArray

from recorder.nodes.clock_probe import PING, PONG
from recorder.timesync import ClockEstimate, ClockProbe, Exchange
from teleop_bridge.nodes.qos import SENSOR

_PERIOD_S = 0.5


class ClockWatch:
    """Keeps one estimate per machine; clocks further off than ``bound_ns`` are a warning."""

    def __init__(self, node: Node, *, bound_ns: int) -> None:
        """Ask twice a second from now on."""
        self._bound_ns = bound_ns
        self._probes: dict[str, ClockProbe] = {}
        self._questions = node.create_publisher(Int64MultiArray, PING, SENSOR)
        node.create_subscription(Int64MultiArray, PONG, self._answered, SENSOR)
        node.create_timer(_PERIOD_S, self._ask)

    def statuses(self, node_name: str) -> list[DiagnosticStatus]:
        """Return one diagnostic status per machine that answers."""
        found = ((host, probe.estimate()) for host, probe in sorted(self._probes.items()))
        return [self._status(node_name, host, estimate) for host, estimate in found if estimate]

    def _ask(self) -> None:
        self._questions.publish(Int64MultiArray(data=[time.time_ns()]))

    def _answered(self, pong: Int64MultiArray) -> None:
        back = time.time_ns()
        if len(pong.data) == 3 and pong.layout.dim:
            probe = self._probes.setdefault(pong.layout.dim[0].label, ClockProbe())
            probe.add(Exchange(*pong.data, back))

    def _status(self, node_name: str, host: str, estimate: ClockEstimate) -> DiagnosticStatus:
        far = abs(estimate.offset_ns) - estimate.uncertainty_ns > self._bound_ns
        drift = estimate.drift_ns_per_s
        return DiagnosticStatus(
            level=DiagnosticStatus.WARN if far else DiagnosticStatus.OK,
            name=f'{node_name}: clock of {host}',
            message=f'{estimate.offset_ns / 1e6:+.3f} ms off ours '
            f'± {estimate.uncertainty_ns / 1e6:.3f} ms'
            + (', synchronise it with chrony or PTP' if far else ''),
            values=[
                KeyValue(key='offset_ns', value=str(estimate.offset_ns)),
                KeyValue(key='uncertainty_ns', value=str(estimate.uncertainty_ns)),
                KeyValue(key='drift_ns_per_s', value='' if drift is None else f'{drift:.1f}'),
            ],
        )

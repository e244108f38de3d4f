# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The controller's state as messages: EpisodeStatus and /diagnostics."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from teleop_flywheel.msg import EpisodeStatus

from recorder.controller import Controller
from recorder.gate import Fault
from recorder.health import StreamReport
from teleop_bridge.nodes.convert import to_stamp


def status_message(controller: Controller) -> EpisodeStatus:
    """Return the recorder's state at this instant."""
    status, options = controller.status(), controller.options
    now = controller.clock.now_ns()
    message = EpisodeStatus(
        state=status.state.value,
        session_id=options.session_id,
        session_kind=options.kind.value,
        operator_id=options.operator_id,
        task=options.task.name if options.task else '',
        location=status.location,
        episode_index=status.episode_index,
        bag=str(status.bag or ''),
        grade=status.grade,
        elapsed_s=(now - status.since_ns) / 1e9 if status.since_ns else 0.0,
        limit_s=status.limit_ns / 1e9,
        block=status.block,
        done=status.done,
        target=status.target,
        messages=status.messages,
        lost=status.lost,
        message=status.message,
    )
    message.header.stamp = to_stamp(now)
    return message


def diagnostics(controller: Controller, node_name: str) -> DiagnosticArray:
    """Return one status per stream, one of the writer and one of the clock."""
    now = controller.clock.now_ns()
    array = DiagnosticArray()
    array.header.stamp = to_stamp(now)
    faults = {fault.stream: fault for fault in controller.faults()}
    names = {topic: name for name, topic in controller.names.items()}
    reports = controller.capture.reports(now)
    for report in reports:
        fault = faults.get(names.get(report.topic, ''))
        array.status.append(
            DiagnosticStatus(
                level=DiagnosticStatus.ERROR if fault else DiagnosticStatus.OK,
                name=f'{node_name}: {report.topic}',
                message=str(fault) if fault else f'{report.rate_hz:.1f} Hz',
                values=_values(report),
            )
        )
    known = {report.topic for report in reports}
    for name, fault in faults.items():
        topic = controller.names.get(name)
        if topic is not None and topic not in known:
            array.status.append(
                DiagnosticStatus(
                    level=DiagnosticStatus.ERROR, name=f'{node_name}: {topic}', message=str(fault)
                )
            )
    array.status.append(_writer_status(controller, node_name))
    array.status.append(_disk_status(controller, node_name, faults))
    drift = controller.clock.wall_drift_ns()
    array.status.append(
        DiagnosticStatus(
            level=DiagnosticStatus.OK,
            name=f'{node_name}: clock',
            message=f'wall clock {drift / 1e6:+.3f} ms off the session',
            values=[KeyValue(key='wall_minus_session_ns', value=str(drift))],
        )
    )
    return array


def _writer_status(controller: Controller, node_name: str) -> DiagnosticStatus:
    status = controller.status()
    writer = controller.episode.writer if controller.episode else None
    queued = writer.queued_bytes if writer else 0
    return DiagnosticStatus(
        level=DiagnosticStatus.ERROR if status.lost else DiagnosticStatus.OK,
        name=f'{node_name}: writer',
        message=status.state.name.lower(),
        values=[
            KeyValue(key='messages', value=str(status.messages)),
            KeyValue(key='lost', value=str(status.lost)),
            KeyValue(key='queued_bytes', value=str(queued)),
        ],
    )


def _disk_status(
    controller: Controller, node_name: str, faults: dict[str, Fault]
) -> DiagnosticStatus:
    disk = controller.disk()
    fault = faults.get('disk')
    return DiagnosticStatus(
        level=DiagnosticStatus.ERROR if fault else DiagnosticStatus.OK,
        name=f'{node_name}: disk',
        message=str(fault) if fault else f'{disk.free / 1e9:.1f} GB free',
        values=[
            KeyValue(key='free_bytes', value=str(disk.free)),
            KeyValue(key='bytes_per_s', value=f'{disk.rate:.0f}'),
            KeyValue(key='minutes_left', value=f'{disk.minutes_left:.1f}'),
        ],
    )


def _values(report: StreamReport) -> list[KeyValue]:
    def text(value: int | None) -> str:
        return '' if value is None else str(value)

    return [
        KeyValue(key='received', value=str(report.received)),
        KeyValue(key='rate_hz', value=f'{report.rate_hz:.2f}'),
        KeyValue(key='expected_hz', value=f'{report.expected_hz or 0:g}'),
        KeyValue(key='age_ns', value=text(report.age_ns)),
        KeyValue(key='lost', value=str(report.lost)),
        KeyValue(key='gaps', value=str(report.gaps)),
        KeyValue(key='largest_gap_ns', value=str(report.largest_gap_ns)),
        KeyValue(key='jitter_ns', value=str(report.jitter_ns)),
        KeyValue(key='out_of_order', value=str(report.out_of_order)),
        KeyValue(key='duplicates', value=str(report.duplicates)),
        KeyValue(key='zero_stamps', value=str(report.zero_stamps)),
        KeyValue(key='frozen', value=str(report.frozen).lower()),
        KeyValue(key='latency_p50_ns', value=text(report.latency_p50_ns)),
        KeyValue(key='latency_p99_ns', value=text(report.latency_p99_ns)),
    ]

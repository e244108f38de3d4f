# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What teleoperation costs and how smooth it is, each beside its named alternative.

Lag and jitter against bare rclpy nodes over the same hops in the same run; handovers against a
hard switch; faults by what the follower does.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, ExitStack
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
from numpy.typing import NDArray
import rclpy
from rclpy.qos import qos_profile_sensor_data
from rich.console import Console
from rich.table import Table
from sensor_msgs.msg import JointState

BENCH = Path(__file__).resolve().parent
sys.path.insert(1, str(BENCH.parent))
from bench.faults import FAULTS, run_fault  # noqa: E402
from bench.handover import hand_over, largest_excess, SimulatedArm, unlimited  # noqa: E402
from teleop_bridge.clock import SessionClock  # noqa: E402
from teleop_bridge.nodes.convert import to_ns, to_stamp  # noqa: E402
from teleop_bridge.resources import data_file  # noqa: E402
from teleop_bridge.rig.loader import load_rig  # noqa: E402

RATES = (50, 100, 250)
SEEDS = 50
STEP_RAD = 1e-6  # the leader's motion from message to message: which one a command shows
# The leader runs a little faster than the follower's timers, as clocks of two devices do: else
# each run would measure two constant phases that it drew at its start.
DRIFT = 1.013
RIG = """
rig: bench
clock: session
joints: {{a: {{}}, b: {{}}}}
leader: {{mapping: {{a: {{}}, b: {{}}}}}}
follower: {{rate_hz: {rate}, max_age_ms: 2000, startup_velocity: 1000}}
streams:
  leader: {{topic: leader/joint_states, type: sensor_msgs/msg/JointState, role: leader,
           max_age_ms: 2000}}
  human: {{topic: leader/command, type: sensor_msgs/msg/JointState, role: human_proposal,
          max_age_ms: 2000}}
  action: {{topic: follower/command, type: sensor_msgs/msg/JointState, role: action,
           max_age_ms: 2000}}
  state: {{topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 2000}}
  authority: {{topic: authority, type: teleop_flywheel/msg/Authority, role: authority,
              max_age_ms: 2000}}
"""


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Python program until the block ends."""
    child = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    try:
        yield child
    finally:
        child.send_signal(signal.SIGINT)
        child.wait(20)


class Leader:
    """Publishes a moving leader and a resting follower, and receives both kinds of command."""

    def __init__(self, rate_hz: float) -> None:
        self.node = rclpy.create_node('bench_leader')
        self.clock = SessionClock.from_wall_clock()
        self.sent: list[int] = []
        self.lags: dict[str, list[int]] = {'follower/command': [], 'bare/command': []}
        self.stamps: list[int] = []
        self._seen = {'follower/command': -1, 'bare/command': -1}
        self._leader = self.node.create_publisher(JointState, 'leader/joint_states', 50)
        self._state = self.node.create_publisher(JointState, 'joint_states', 50)
        for topic in self.lags:
            self.node.create_subscription(
                JointState,
                topic,
                lambda message, topic=topic: self._on_command(topic, message),
                qos_profile_sensor_data,
            )
        self.node.create_timer(1.0 / (DRIFT * rate_hz), self._publish)

    def run(self, seconds: float) -> None:
        """Spin for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            rclpy.spin_once(self.node, timeout_sec=0.1)

    def _publish(self) -> None:
        now = self.clock.now_ns()
        value = len(self.sent) * STEP_RAD
        message = JointState(name=['a', 'b'], position=[value, 0.0])
        message.header.stamp = to_stamp(now)
        self.sent.append(now)
        self._leader.publish(message)
        self._state.publish(message)

    def _on_command(self, topic: str, message: JointState) -> None:
        now = self.clock.now_ns()
        if topic == 'follower/command':
            self.stamps.append(to_ns(message.header.stamp))
        number = round(message.position[0] / STEP_RAD)
        if number > self._seen[topic] and number < len(self.sent):
            self._seen[topic] = number
            self.lags[topic].append(now - self.sent[number])


def percentiles(values: list[int] | NDArray[np.int64]) -> tuple[float, float]:
    """Return p50 and p99 in ms."""
    p50, p99 = np.percentile(np.asarray(values), [50, 99]) / 1e6
    return float(p50), float(p99)


def lag(rate_hz: float, seconds: float, folder: Path) -> list[object]:
    """Measure leader stamp to command received, ours and bare, side by side."""
    rig = folder / f'rig_{rate_hz:g}.yaml'
    rig.write_text(RIG.format(rate=rate_hz))
    arguments = ('--ros-args', '-p', f'rig:={rig}')
    with ExitStack() as stack:
        for part in ('leader', 'follower'):
            stack.enter_context(process('-m', f'teleop_bridge.nodes.{part}', *arguments))
        stack.enter_context(process(str(BENCH / 'relay.py'), 'leader'))
        stack.enter_context(process(str(BENCH / 'relay.py'), 'follower', str(rate_hz)))
        leader = Leader(rate_hz)
        leader.run(5.0)  # discovery and warm-up
        for values in leader.lags.values():
            values.clear()
        leader.run(seconds)
        leader.node.destroy_node()
    ours = percentiles(leader.lags['follower/command'])
    bare = percentiles(leader.lags['bare/command'])
    row: list[object] = [f'{rate_hz:g} Hz']
    for mine, theirs in zip(ours, bare, strict=True):
        row += [f'{mine:.2f}', f'{theirs:.2f}', f'{mine / theirs:.2f}']
    return row


def jitter(seconds: float, folder: Path) -> list[list[object]]:
    """Measure the control period at 100 Hz while two raw cameras and joints are recorded."""
    rig = folder / 'rig_jitter.yaml'
    rig.write_text(RIG.format(rate=100))
    bare_file = folder / 'timer.npy'
    load_rig_file = folder / 'load.yaml'
    load_rig_file.write_text(
        'rig: load\nclock: ros\nstreams:\n'
        + ''.join(
            f'  c{i}: {{topic: camera/c{i}/image_raw, type: sensor_msgs/msg/Image, role: camera, '
            'max_age_ms: 1000, rate_hz: 30}\n'
            for i in range(2)
        )
    )
    with ExitStack() as stack:
        stack.enter_context(
            process(str(BENCH / 'load.py'), 'two_raw_cameras', str(folder / 'load.npz'))
        )
        stack.enter_context(
            process(
                '-m', 'recorder.nodes.recorder', '--ros-args', '-p', f'rig:={load_rig_file}',
                '-p', f'output:={folder / "bags"}', '-p', 'session_id:=jitter',
            )
        )  # fmt: skip
        for part in ('leader', 'follower'):
            node = ('-m', f'teleop_bridge.nodes.{part}', '--ros-args', '-p', f'rig:={rig}')
            stack.enter_context(process(*node))
        leader = Leader(100)
        relay = (str(BENCH / 'relay.py'), 'timer', '100', str(bare_file))
        bare = stack.enter_context(process(*relay))
        leader.run(6.0)
        _start_recording(leader)
        leader.run(3.0)  # its start takes a core for a while, from both loops
        begin = time.monotonic_ns()
        leader.run(seconds)
        end = time.monotonic_ns()
        leader.node.destroy_node()
        bare.send_signal(signal.SIGINT)
        bare.wait(20)
    rows: list[list[object]] = []
    figures = []
    ours = np.array(leader.stamps) - leader.clock.offset_ns
    for name, stamps in (('follower', ours), ('bare', np.load(bare_file))):
        periods = np.diff(stamps[(stamps >= begin) & (stamps < end)])
        deviation = np.percentile(np.abs(periods - 10_000_000), 99) / 1e6
        missed = int(np.sum(np.maximum(np.round(periods / 10_000_000) - 1, 0)))
        figures.append(float(deviation))
        rows.append([name, f'{deviation:.2f}', missed, len(periods)])
    rows.append(['ratio', f'{figures[0] / figures[1]:.2f}', '', ''])
    return rows


def _start_recording(leader: Leader) -> None:
    from std_srvs.srv import Trigger

    client = leader.node.create_client(Trigger, 'recorder/start_trigger')
    client.wait_for_service(10)
    future = client.call_async(Trigger.Request())
    while not future.done():
        rclpy.spin_once(leader.node, timeout_sec=0.1)
    if not future.result().success:
        sys.exit(f'the recorder did not start: {future.result().message}')


def handovers() -> list[list[object]]:
    """Compare handovers with a hard switch over all seeds, both directions."""
    rig = load_rig(data_file('config/rigs/so101_sim.yaml'))
    free = unlimited(rig)
    rows: list[list[object]] = []
    for to_human in (True, False):
        made = [hand_over(free, seed=seed, to_human=to_human) for seed in range(SEEDS)]
        step = max(h.velocity_step(h.commands) for h in made)
        hard_step = max(h.velocity_step(h.hard) for h in made)
        jerk = max(h.peak_jerk(h.commands) for h in made)
        hard_jerk = max(h.peak_jerk(h.hard) for h in made)
        limited = [
            hand_over(rig, seed=seed, to_human=to_human, make_arm=SimulatedArm)
            for seed in range(SEEDS)
        ]
        rows.append(
            [
                'to human' if to_human else 'to policy',
                f'{step:.3f}', f'{hard_step:.1f}', f'{hard_step / step:.0f}x',
                f'{jerk:.0f}', f'{hard_jerk:.0f}', f'{hard_jerk / jerk:.0f}x',
                f'{max(largest_excess(rig, h.commands) for h in limited):.1%}',
                f'{max(h.tracking_error() for h in limited):.3f}',
            ]
        )  # fmt: skip
    return rows


def show(console: Console, title: str, columns: list[str], rows: list[list[object]]) -> None:
    """Print one table."""
    table = Table(title=title, title_justify='left')
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    console.print(table)


def main() -> None:
    """Run every part, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('parts', nargs='*', default=['handover', 'faults', 'lag', 'jitter'])
    parser.add_argument('--seconds', type=float, default=20.0, help='of each live measurement')
    arguments = parser.parse_args()
    console = Console(width=130)
    if 'handover' in arguments.parts:
        columns = [
            'direction', 'velocity step rad/s', 'hard switch', 'smaller by', 'peak jerk rad/s3',
            'hard switch', 'smaller by', 'limits exceeded by', 'tracking error rad',
        ]  # fmt: skip
        title = f'Handover at 100 Hz, 150 ms ramp, 0.2 rad apart, {SEEDS} seeds'
        show(console, title, columns, handovers())
    if 'faults' in arguments.parts:
        columns = ['fault', 'ms until it holds', 'largest step on recovery, mrad', 'phase after']
        show(console, 'Faults', columns, [run_fault(name) for name in FAULTS])
    live = [part for part in ('lag', 'jitter') if part in arguments.parts]
    if not live:
        return
    os.environ.setdefault('ROS_DOMAIN_ID', str(1 + os.getpid() % 100))
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    rclpy.init()
    with tempfile.TemporaryDirectory() as folder:
        if 'lag' in live:
            columns = ['rate', 'p50 ms', 'bare', 'ratio', 'p99 ms', 'bare', 'ratio']
            rows = [lag(rate, arguments.seconds, Path(folder)) for rate in RATES]
            show(console, 'Leader stamp to command, against bare rclpy relays', columns, rows)
        if 'jitter' in live:
            columns = ['100 Hz loop', 'p99 deviation ms', 'missed periods', 'periods']
            title = 'Control period beside two recorded raw cameras, against a bare rclpy timer'
            show(console, title, columns, jitter(arguments.seconds, Path(folder)))
    rclpy.shutdown()


if __name__ == '__main__':
    main()

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What recording costs: CPU against the plain writers, memory, and messages lost, under two loads.

Prints one row per load. The references: what receiving the same messages costs, what writing the
same bytes costs the mcap library alone and, where it is installed, what `ros2 bag record` costs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, ExitStack
from itertools import islice
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time

from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
import numpy as np
import rclpy
from std_srvs.srv import Trigger

from recorder.bag.mcap_reader import bag_file, read_messages
from recorder.bag.stamps import header_stamp_ns
from recorder.bag.writer import has_rosbag2
from recorder.facts import read_sidecar

RIG = 'rig: bench\nclock: ros\njoints: {joint_0: {}}\nstreams:\n'
STREAMS = {
    'raw_cameras': [('camera/c{}/image_raw', 'sensor_msgs/msg/Image', 'camera', 30)] * 4,
    'jpeg_cameras': [('camera/c{}/compressed', 'sensor_msgs/msg/CompressedImage', 'camera', 30)]
    * 4,
    'joints_500': [('joints/j{}', 'sensor_msgs/msg/JointState', 'state', 500)] * 2,
    'joints_1000': [('joints/j{}', 'sensor_msgs/msg/JointState', 'state', 1000)] * 2,
}
CASES = {
    'raw': ('raw_cameras', 'joints_500'),
    'jpeg': ('jpeg_cameras', 'joints_1000'),
    'stall': ('raw_cameras', 'joints_500'),  # in which the disk takes nothing for STALL_S
}
SECONDS = {'raw': 60.0, 'jpeg': 600.0, 'stall': 30.0}
RECEIVING_S = 20.0
STALL_S, STALL_SYNC = 3.0, 20  # at the twentieth sync, ten seconds in
STALLING = Path(__file__).parents[1] / 'test/support/stalling_recorder.py'
BATCH = 1000  # messages, at most 1 GB of raw images
_TICKS = os.sysconf('SC_CLK_TCK')


def cpu_s(pid: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def peak_mb(pid: int) -> float:
    """Return the most memory that a process has held."""
    status = Path(f'/proc/{pid}/status').read_text()
    return int(status.split('VmHWM:')[1].split()[0]) / 1024


def rig_text(case: str) -> str:
    """Return a rig file that declares the case's topics."""
    text = RIG
    for load in CASES[case]:
        for i, (topic, type_, role, rate) in enumerate(STREAMS[load]):
            text += (
                f'  {load}_{i}: {{topic: {topic.format(i)}, type: {type_}, role: {role}, '
                f'rate_hz: {rate}, max_age_ms: 500}}\n'
            )
    return text


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process until the block ends, then SIGINT it."""
    child = subprocess.Popen([sys.executable, *command])
    try:
        yield child
    finally:
        child.send_signal(signal.SIGINT)
        child.wait(60)


def call(node: rclpy.node.Node, name: str) -> None:
    """Call one of the recorder's Trigger services; fails with its message."""
    client = node.create_client(Trigger, f'recorder/{name}')
    client.wait_for_service(30.0)
    time.sleep(1.0)  # until the recorder knows this client too, or its answer goes nowhere
    future = client.call_async(Trigger.Request())
    rclpy.spin_until_future_complete(node, future, timeout_sec=120.0)
    if not future.done() or not future.result().success:
        sys.exit(f'{name}: {future.result().message if future.done() else "no answer"}')


def record(case: str, seconds: float, folder: Path) -> dict[str, float]:
    """Record a case with our node and return what it cost and lost."""
    (folder / 'rig.yaml').write_text(rig_text(case))
    load_files = {load: folder / f'{load}.npz' for load in CASES[case]}
    here = str(Path(__file__).parent / 'load.py')
    program = ['-m', 'recorder.nodes.recorder']
    if case == 'stall':
        program = [str(STALLING), str(STALL_S), str(STALL_SYNC), '1']
    with (
        process(
            *program,
            '--ros-args',
            '-p',
            f'rig:={folder}/rig.yaml',
            '-p',
            f'output:={folder}/bags',
            '-p',
            'session_id:=s',
            '-p',
            'arm_timeout_s:=30.0',
        ) as ours,
        process(here, CASES[case][0], str(load_files[CASES[case][0]])),
        process(here, CASES[case][1], str(load_files[CASES[case][1]])),
    ):
        node = rclpy.create_node('bench')
        call(node, 'start_trigger')
        before = cpu_s(ours.pid)
        started = time.monotonic()
        while time.monotonic() - started < seconds:
            rclpy.spin_once(node, timeout_sec=0.5)
        cpu = cpu_s(ours.pid) - before
        call(node, 'end_success')
        memory = peak_mb(ours.pid)
        node.destroy_node()
    bag = folder / 'bags/s/s_e0000'
    return {'cpu_s': cpu, 'memory_mb': memory, **compare(bag, load_files)}


def missing_messages(bag: Path, load_files: dict[str, Path]) -> tuple[int, int, int]:
    """Return how many published messages a bag has and misses within its span, and its bytes."""
    sent: dict[str, np.ndarray] = {}
    for path in load_files.values():
        sent.update(np.load(path))
    found: dict[str, list[int]] = {}
    size = 0
    for message in read_messages(bag_file(bag)):
        size += len(message.data)
        if message.topic in sent:
            found.setdefault(message.topic, []).append(header_stamp_ns(message.data) or 0)
    missing = 0
    for topic, times in sent.items():
        stamps = found.get(topic, [int(times[0]), int(times[-1])])
        inside = times[(times >= stamps[0]) & (times <= stamps[-1])]
        missing += len(set(inside.tolist()) - set(found.get(topic, ())))
    return sum(map(len, found.values())), missing, size


def compare(bag: Path, load_files: dict[str, Path]) -> dict[str, float]:
    """Return how many published messages the bag has, misses, and what its own statistics say."""
    found, missing, size = missing_messages(bag, load_files)
    streams = read_sidecar(bag)['episode']['streams']
    counted = sum(s['lost'] + s['unwritten'] for s in streams)
    return {'messages': found, 'missing': missing, 'bytes': size, 'counted': counted}


def joints_read_share(bag: Path) -> float:
    """Return the time to read one joint stream, as a share of the time to read everything."""
    seconds = []
    for topics in (None, '/joints/j0'):
        with open(bag_file(bag), 'rb') as file:
            started = time.monotonic()
            for _ in make_reader(file).iter_messages(topics):
                pass
            seconds.append(time.monotonic() - started)
    return seconds[1] / seconds[0]


def plain_mcap(bag: Path, output: Path) -> float:
    """Return the CPU seconds that the mcap library takes to write a bag's messages again."""
    messages = read_messages(bag_file(bag))
    spent = 0.0
    with open(output, 'wb') as file:
        writer = Writer(file, chunk_size=4 << 20, compression=CompressionType.NONE)
        writer.start('ros2')
        channels: dict[str, int] = {}
        while batch := list(islice(messages, BATCH)):  # read before its writing is measured
            before = time.process_time()
            for message in batch:
                if message.topic not in channels:
                    schema = writer.register_schema(message.type, 'ros2msg', b'')
                    channels[message.topic] = writer.register_channel(message.topic, 'cdr', schema)
                writer.add_message(
                    channels[message.topic], message.log_ns, message.data, message.publish_ns
                )
            spent += time.process_time() - before
        before = time.process_time()
        writer.finish()
    return spent + time.process_time() - before


def receiving(case: str, folder: Path) -> float:
    """Return the CPU seconds per second that receiving a case's messages alone takes."""
    here = Path(__file__).parent
    first, second = CASES[case]
    with (
        process(str(here / 'receiver.py'), first, second) as receiver,
        process(str(here / 'load.py'), first, str(folder / 'c.npz')),
        process(str(here / 'load.py'), second, str(folder / 'd.npz')),
    ):
        time.sleep(5.0)
        before = cpu_s(receiver.pid)
        time.sleep(RECEIVING_S)
        return (cpu_s(receiver.pid) - before) / RECEIVING_S


def rosbag2(case: str, seconds: float, folder: Path) -> dict[str, float]:
    """Return what `ros2 bag record` costs and loses with the same load, which it must write."""
    here = Path(__file__).parent
    load_files = {load: folder / f'rosbag2_{load}.npz' for load in CASES[case]}
    topics = [
        f'/{topic.format(i)}'
        for load in CASES[case]
        for i, (topic, *_) in enumerate(STREAMS[load])
    ]
    bag = folder / 'rosbag2'
    with ExitStack() as programs:
        for load, file in load_files.items():
            programs.enter_context(process(str(here / 'load.py'), load, str(file)))
        theirs = programs.enter_context(
            process(str(here / 'rosbag2_record.py'), str(bag), *topics)
        )
        time.sleep(5.0)
        before = cpu_s(theirs.pid)
        time.sleep(seconds)
        cpu = cpu_s(theirs.pid) - before
        memory = peak_mb(theirs.pid)
    found, missing, _ = missing_messages(bag, load_files)
    return {
        'rosbag2_cpu_s': cpu,
        'rosbag2_memory_mb': memory,
        'rosbag2_messages': found,
        'rosbag2_missing': missing,
    }


def main() -> None:
    """Run the cases and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seconds', type=float, help='of each case, default ' + str(SECONDS))
    parser.add_argument('--case', choices=CASES, action='append')
    parser.add_argument('--output', type=Path, help='folder for the bags, default a temporary one')
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    os.environ.setdefault('ROS_DOMAIN_ID', '87')
    rclpy.init()
    rows = []
    for case in options.case or CASES:
        seconds = options.seconds or SECONDS[case]
        with tempfile.TemporaryDirectory(dir=options.output) as name:
            folder = Path(name)
            row: dict[str, object] = {
                'case': case,
                'seconds': seconds,
                **record(case, seconds, folder),
            }
            row['plain_mcap_cpu_s'] = plain_mcap(folder / 'bags/s/s_e0000', folder / 'again.mcap')
            row['joints_read_share'] = joints_read_share(folder / 'bags/s/s_e0000')
            row['receiving'] = receiving(case, folder)
            if has_rosbag2() and case != 'stall':
                row.update(rosbag2(case, seconds, folder))
            rows.append(row)
    rclpy.shutdown()
    if not has_rosbag2():
        print('no rosbag2_py here: the mcap library alone is the comparison', file=sys.stderr)
    if options.json:
        print(json.dumps(rows))
        return
    print(
        f'{"load":6}{"seconds":>8}{"messages":>10}{"MB/s":>8}{"missing":>9}{"counted":>9}'
        f'{"CPU":>7}{"receiving":>11}{"MB RAM":>8}{"x mcap":>8}{"x rosbag2":>11}'
        f'{"joints read":>13}'
    )
    for row in rows:
        share = row['cpu_s'] / row['seconds']
        against = '-'
        if 'rosbag2_cpu_s' in row:
            against = f'{row["cpu_s"] / row["rosbag2_cpu_s"]:.2f}'
        print(
            f'{row["case"]:6}{row["seconds"]:8.0f}{row["messages"]:10}'
            f'{row["bytes"] / row["seconds"] / 1e6:8.1f}'
            f'{row["missing"]:9}{row["counted"]:9}{share:7.1%}{row["receiving"]:11.1%}'
            f'{row["memory_mb"]:8.0f}'
            f'{row["cpu_s"] / row["plain_mcap_cpu_s"]:8.2f}{against:>11}'
            f'{row["joints_read_share"]:13.1%}'
        )


if __name__ == '__main__':
    main()

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How fast bags are read, decoded, checked and aligned, as ratios within one run.

The bag is another recorder's: two JPEG cameras 640x480 at 30 Hz, one raw camera, two JointStates
at 200 Hz, zstd chunks; and once more as our own recorder lays it out, a lane of chunks per stream.
Every case runs in a process of its own; CPU seconds are against decompressing the chunks alone.
Libraries that are not installed are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
import json
from pathlib import Path
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

import cv2
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
import numpy as np
from rich.console import Console
from rich.table import Table
import zstandard

HERE = Path(__file__).resolve().parent
# this file must not hide the package of its name
sys.path[:] = [str(HERE.parent)] + [p for p in sys.path if Path(p or '.').resolve() != HERE]
from curation.align.align import align  # noqa: E402
from curation.align.extract import extract  # noqa: E402
from curation.align.frames import FrameSource  # noqa: E402
from curation.align.options import AlignOptions, OnGap  # noqa: E402
from curation.bag.draft import draft_rig  # noqa: E402
from curation.bag.reader import open_bag  # noqa: E402
from curation.checks.run import check_recordings  # noqa: E402
from recorder.bag.definitions import definition, type_hash, typestore  # noqa: E402
from recorder.bag.messages import image, joint_state  # noqa: E402
from recorder.bag.topic import TopicInfo  # noqa: E402
from recorder.bag.writer import open_bag as new_bag  # noqa: E402
from teleop_bridge.rig.schema import Storage  # noqa: E402

JOINTS = tuple(f'joint_{i}' for i in range(7))
TYPES = {
    '/camera/left/image/compressed': 'sensor_msgs/msg/CompressedImage',
    '/camera/right/image/compressed': 'sensor_msgs/msg/CompressedImage',
    '/camera/front/image_raw': 'sensor_msgs/msg/Image',
    '/joint_states': 'sensor_msgs/msg/JointState',
    '/command': 'sensor_msgs/msg/JointState',
}
JOINT_TOPICS = ('/joint_states', '/command')
START_NS = 1_700_000_000_000_000_000


def messages(seconds: float) -> Iterator[tuple[int, str, bytes]]:
    """Yield (stamp, topic, bytes) in time order: a textured scene with a moving arm."""
    rng = np.random.default_rng(0)
    coarse = cv2.resize(rng.integers(0, 255, (60, 80, 3), np.uint8), (640, 480))
    noise = rng.integers(0, 6, (8, 480, 640, 3), np.uint8)
    for tick in range(int(seconds * 200)):
        stamp = START_NS + tick * 5_000_000
        wave = np.sin(0.01 * tick * (1 + np.arange(7) / 7))
        for k, topic in enumerate(JOINT_TOPICS):
            yield stamp, topic, joint_state(stamp, JOINTS, wave + k * 1e-3, wave, wave)
        if tick * 30 // 200 == (tick - 1) * 30 // 200 and tick:
            continue
        frame = coarse + noise[tick % 8]
        cv2.circle(
            frame, (int(320 + 200 * wave[0]), int(240 + 150 * wave[1])), 40, (20, 40, 220), -1
        )
        jpeg = cv2.imencode('.jpg', frame, [cv2.IMWRITE_JPEG_QUALITY, 92])[1]
        for topic in list(TYPES)[:2]:
            yield stamp, topic, _compressed(stamp, jpeg)
        yield stamp, '/camera/front/image_raw', image(stamp, frame, encoding='bgr8')


def _compressed(stamp: int, jpeg: Any) -> bytes:
    store = typestore()
    sec, nanosec = divmod(stamp, 10**9)
    header = store.types['std_msgs/msg/Header'](
        store.types['builtin_interfaces/msg/Time'](sec, nanosec), 'camera'
    )
    type_ = 'sensor_msgs/msg/CompressedImage'
    message = store.types[type_](header, 'bgr8; jpeg compressed bgr8', jpeg.ravel())
    return bytes(store.serialize_cdr(message, type_))


def write_bags(folder: Path, seconds: float) -> int:
    """Write the bag in both layouts; return its size in bytes before compression."""
    size = 0
    ours = new_bag(folder / 'ours', custom_data={})
    for name, type_ in TYPES.items():
        raw = type_ == 'sensor_msgs/msg/Image'
        ours.add_topic(
            TopicInfo(
                name,
                type_,
                definition(type_),
                type_hash=type_hash(type_),
                storage=Storage.CHUNK if raw else Storage.RAW,
            )
        )
    with open(folder / 'other.mcap', 'wb') as file:
        writer = Writer(file, chunk_size=1 << 20, compression=CompressionType.ZSTD)
        writer.start('ros2', 'bench')
        channels = {
            name: writer.register_channel(
                name, 'cdr', writer.register_schema(type_, 'ros2msg', definition(type_).encode())
            )
            for name, type_ in TYPES.items()
        }
        for stamp, topic, data in messages(seconds):
            size += len(data)
            writer.add_message(channels[topic], stamp + 1_000_000, data, stamp)
            ours.write(topic, data, stamp + 1_000_000, stamp)
        writer.finish()
    ours.close({})
    return size


def zstd_only(bag: str) -> None:
    """Decompress the chunks, nothing else."""
    with open(bag, 'rb') as file:
        summary = make_reader(file).get_summary()
        assert summary is not None
        for chunk in summary.chunk_indexes:
            head = 9 + 8 + 8 + 8 + 4 + 4 + len(chunk.compression) + 8
            file.seek(chunk.chunk_start_offset + head)
            data = file.read(chunk.compressed_size)
            zstandard.ZstdDecompressor().decompress(data, max_output_size=chunk.uncompressed_size)


def ours_raw(bag: str) -> None:
    """Read all messages."""
    with open_bag(bag) as reader:
        for _ in reader.messages():
            pass


def ours_joints(bag: str) -> None:
    """Read and decode the joints."""
    from curation.align.joints import JointRows

    with open_bag(bag) as reader:
        rows = {topic: JointRows(reader.decoder(topic), JOINTS) for topic in JOINT_TOPICS}
        for message in reader.messages(JOINT_TOPICS):
            rows[message.topic].add(message.data)
        for table in rows.values():
            table.table()


def ours_all(bag: str) -> None:
    """Decode every message."""
    with open_bag(bag) as reader:
        for message in reader.messages():
            reader.decoder(message.topic).decode(message.data)


def ours_images(bag: str) -> None:
    """Decode every message and every image to pixels, one after the other."""
    with open_bag(bag) as reader:
        recording = extract(reader, draft_rig(reader))
    for source in recording.frames.values():
        assert isinstance(source, FrameSource)
        for i in range(len(source)):
            source(i)
        source.close()


def ours_check(bag: str) -> None:
    """Read, decode, check everything and align."""
    with open_bag(bag) as reader:
        recording = extract(reader, draft_rig(reader))
    list(check_recordings([recording]))
    align(recording, AlignOptions(on_gap=OnGap.MASK))


def mcap_raw(bag: str) -> None:
    """Read all messages."""
    with open(bag, 'rb') as file:
        for _ in make_reader(file).iter_messages():
            pass


def _mcap_decoded(bag: str, factory: Any, topics: tuple[str, ...] | None) -> None:
    with open(bag, 'rb') as file:
        reader = make_reader(file, decoder_factories=[factory])
        for message in reader.iter_decoded_messages(topics=topics):
            _ = message.decoded_message


def mcap_ros2(bag: str, topics: tuple[str, ...] | None = None) -> None:
    """Decode through mcap-ros2-support."""
    from mcap_ros2.decoder import DecoderFactory

    _mcap_decoded(bag, DecoderFactory(), topics)


def mcap_ros2_fast(bag: str, topics: tuple[str, ...] | None = None) -> None:
    """Decode through mcap-ros2-support-fast."""
    from mcap_ros2_support_fast import DecoderFactory

    _mcap_decoded(bag, DecoderFactory(), topics)


def small_raw(bag: str, *, check: bool = False) -> None:
    """Read all messages; CRCs are left out by default, which ours are not."""
    from small_mcap import read_message

    with open(bag, 'rb') as file:
        for _ in read_message(file, validate_crc=check):
            pass


def small_decoded(bag: str, topics: tuple[str, ...] | None = None) -> None:
    """Decode through small-mcap with mcap-ros2-support-fast."""
    from mcap_ros2_support_fast import DecoderFactory
    from small_mcap import include_topics, read_message_decoded

    wanted = {} if topics is None else {'should_include': include_topics(topics)}
    with open(bag, 'rb') as file:
        for message in read_message_decoded(file, decoder_factories=[DecoderFactory()], **wanted):
            _ = message.decoded_message


def rosbags_raw(bag: str, topics: tuple[str, ...] | None = None, *, decode: bool = False) -> None:
    """Read all messages."""
    from rosbags.rosbag2.storage_mcap import McapReader

    reader = McapReader(Path(bag))
    reader.open()
    store = typestore()
    wanted = [c for c in reader.connections if topics is None or c.topic in topics]
    for connection, _, data in reader.messages(wanted):
        if decode:
            store.deserialize_cdr(data, connection.msgtype)
    reader.close()


CASES: dict[str, dict[str, Callable[[str], None]]] = {
    'read raw': {
        'zstd alone': zstd_only,
        'ours': ours_raw,
        'mcap': mcap_raw,
        'small-mcap': small_raw,
        'small-mcap, CRCs checked': lambda bag: small_raw(bag, check=True),
        'rosbags': rosbags_raw,
    },
    'decode joints only': {
        'ours': ours_joints,
        'mcap-ros2-support': lambda bag: mcap_ros2(bag, JOINT_TOPICS),
        'mcap-ros2-support-fast': lambda bag: mcap_ros2_fast(bag, JOINT_TOPICS),
        'small-mcap': lambda bag: small_decoded(bag, JOINT_TOPICS),
        'rosbags': lambda bag: rosbags_raw(bag, JOINT_TOPICS, decode=True),
    },
    'decode all messages': {
        'ours': ours_all,
        'mcap-ros2-support': mcap_ros2,
        'mcap-ros2-support-fast': mcap_ros2_fast,
        'small-mcap': small_decoded,
        'rosbags': lambda bag: rosbags_raw(bag, decode=True),
    },
    'pixels, checks, alignment': {
        'decode to pixels': ours_images,
        'check and align': ours_check,
    },
}
OWN_CASES = {'read whole': ours_raw, 'joints only': ours_joints}


def measure(case: str, names: Iterable[str], bag: Path, times: int) -> dict[str, Any]:
    """Return by name the least CPU seconds of a case and its memory in MB.

    They take turns, so that what else the machine does meets all. Who can't run is left out.
    """
    names, best = list(names), {}
    for _ in range(times):
        for name in list(names):
            run = subprocess.run(
                [sys.executable, __file__, '--case', case, name, str(bag)],
                capture_output=True,
                text=True,
                check=False,
            )
            if run.returncode:
                Console(stderr=True).print(f'{name}: {run.stderr.strip().splitlines()[-1]}')
                names.remove(name)
            else:
                best[name] = min(best.get(name, [np.inf, 0.0]), json.loads(run.stdout))
    return best


def run_case(case: str, name: str, bag: str) -> None:
    """Run one case and print its CPU seconds and its largest memory in MB beyond the start's."""
    function = {**CASES, 'own layout': OWN_CASES}[case][name]
    before = resource.getrusage(resource.RUSAGE_SELF)
    if case != 'pixels, checks, alignment':
        function(bag)   # what is imported and generated once is not reading
    start = time.process_time()
    function(bag)
    seconds = time.process_time() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps([seconds, (after.ru_maxrss - before.ru_maxrss) / 1024]))


def main() -> None:
    """Write the bags, measure every case, print ratios."""
    parser = argparse.ArgumentParser('bench-curation', description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=60.0, help='length of the bag (60)')
    parser.add_argument('--times', type=int, default=2, help='runs of each case, the best counts')
    parser.add_argument('--only', choices=[*CASES, 'own layout'], help='measure one case')
    parser.add_argument('--bags', type=Path, help='write the bags there, or use those there')
    parser.add_argument('--case', nargs=3, metavar=('CASE', 'NAME', 'BAG'), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.case:
        run_case(*arguments.case)
        return
    if arguments.bags:
        arguments.bags.mkdir(parents=True, exist_ok=True)
        measure_all(arguments.bags, arguments)
        return
    with tempfile.TemporaryDirectory(prefix='flywheel_bench_') as folder:
        measure_all(Path(folder), arguments)


def measure_all(folder: Path, arguments: argparse.Namespace) -> None:
    """Write the bags where they are not there yet, measure, print ratios."""
    console = Console()
    bag = folder / 'other.mcap'
    if not bag.exists():
        size = write_bags(folder, arguments.seconds)
        console.print(
            f'{arguments.seconds:g} s, {size / 1e9:.2f} GB, {bag.stat().st_size / 1e9:.2f} '
            'GB compressed'
        )
    table = Table('case', 'by', 'CPU s', 'of zstd', 'MB beyond the start')
    zstd = None
    for case in [case for case in CASES if arguments.only in (None, case)]:
        found = measure(case, CASES[case], bag, arguments.times)
        zstd = zstd or found.get('zstd alone') or measure(
            'read raw', ['zstd alone'], bag, arguments.times
        )['zstd alone']
        for name, (seconds, memory) in found.items():
            of_zstd = f'{seconds / zstd[0]:.2f}'
            table.add_row(case, name, f'{seconds:.2f}', of_zstd, f'{memory:.0f}')
    if table.row_count:
        console.print(table)
    if arguments.only in (None, 'own layout'):
        found = measure('own layout', OWN_CASES, folder / 'ours', arguments.times)
        whole, joints = found['read whole'][0], found['joints only'][0]
        console.print(
            f"our recorder's layout: joints only {joints:.2f} s, whole {whole:.2f} s: "
            f'{whole / joints:.1f} times cheaper'
        )


if __name__ == '__main__':
    main()

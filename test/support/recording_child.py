# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A process that records until it is killed: `recording_child.py OUTPUT INDEX STORAGE`.

Joint states at 200 Hz, whose first position counts them, and 300 kB images at 30 Hz. Each joint
state's number is printed once it is handed over.
"""

from __future__ import annotations

from pathlib import Path
import sys
import time

from recorder.bag import messages
from recorder.bag.definitions import definition, type_hash
from recorder.bag.topic import TopicInfo
from recorder.capture import Capture
from recorder.episode import EpisodeRecorder
from recorder.facts import SessionFacts

TOPICS = {'/joint_states': messages.JOINT_STATE, '/image': messages.STRING}
PERIOD_NS = 5_000_000


def main() -> None:
    output, index, storage = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    capture = Capture()
    for name, type_ in TOPICS.items():
        capture.add_topic(TopicInfo(name, type_, definition(type_), type_hash=type_hash(type_)))
    facts = SessionFacts('s', location='left', episode_index=index, start_ns=time.time_ns())
    EpisodeRecorder(output, capture, facts, files={'rig': 'name: x\n'}, storage=storage)
    image = bytes(300_000)
    begun = time.monotonic_ns()
    number = 0
    while True:
        time.sleep(max(begun + number * PERIOD_NS - time.monotonic_ns(), 0) / 1e9)
        now = time.time_ns()
        data = messages.joint_state(now, ['a'], [float(number)])
        capture.arrived('/joint_states', data, now, now, number)
        if number % 7 == 0:
            capture.arrived('/image', image, now, now)
        print(number, flush=True)
        number += 1


if __name__ == '__main__':
    main()

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Records topics as `ros2 bag record` does: its C++ recorder, with the defaults of its options.

Run as: rosbag2_record.py BAG TOPIC …; it stops at SIGINT.
"""

from __future__ import annotations

from contextlib import suppress
import datetime
import sys

import rosbag2_py


def main() -> None:
    """Record until SIGINT."""
    bag, *topics = sys.argv[1:]
    storage = rosbag2_py.StorageOptions(uri=bag, storage_id='mcap', max_cache_size=100 * 1024**2)
    options = rosbag2_py.RecordOptions()
    options.topics = topics
    options.topic_polling_interval = datetime.timedelta(milliseconds=100)
    options.disable_keyboard_controls = True
    with suppress(KeyboardInterrupt):
        rosbag2_py.Recorder('info').record(storage, options, 'rosbag2_recorder')


if __name__ == '__main__':
    main()

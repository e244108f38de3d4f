# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The recorder node on a disk that stalls: `stalling_recorder.py SECONDS FIRST COUNT …`.

From its sync number FIRST on, COUNT syncs take SECONDS longer each; nothing is written meanwhile.
"""

from __future__ import annotations

import sys
import time

from recorder.bag.mcap_file import McapFile
from recorder.nodes.recorder import main

seconds, first, count = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
syncs = 0
real = McapFile.sync


def sync(file: McapFile) -> None:
    global syncs
    syncs += 1
    if first <= syncs < first + count:
        time.sleep(seconds)
    real(file)


if __name__ == '__main__':
    McapFile.sync = sync  # type: ignore[method-assign]
    sys.exit(main(sys.argv[4:]))

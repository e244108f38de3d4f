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


def stall(seconds: float, first: int, count: int) -> None:
    """Let bags be written as on such a disk."""
    real, syncs = McapFile.sync, 0

    def sync(file: McapFile) -> None:
        nonlocal syncs
        syncs += 1
        if first <= syncs < first + count:
            time.sleep(seconds)
        real(file)

    McapFile.sync = sync  # type: ignore[method-assign]


if __name__ == '__main__':
    stall(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    sys.exit(main(sys.argv[4:]))

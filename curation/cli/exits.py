# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the program's exit code says."""

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes; 2 is what argparse uses for wrong usage."""

    OK = 0
    BAD_DATA = 1
    USAGE = 2
    INTERNAL = 3
    INTERRUPTED = 130

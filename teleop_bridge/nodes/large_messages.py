# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Let images go through shared memory, for nodes that publish them."""

from __future__ import annotations

import os

from teleop_bridge.resources import data_file

PROFILES = 'FASTRTPS_DEFAULT_PROFILES_FILE'


def share_memory_for_images() -> None:
    """Give Fast DDS a segment that holds images, before the node is made.

    A profile that the user has set stands, and other middlewares read none of this. Receivers
    need nothing.
    """
    os.environ.setdefault(PROFILES, str(data_file('config/fastdds/large_messages.xml')))

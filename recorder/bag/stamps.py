# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Header stamps read from serialised bytes, without decoding the message."""

from __future__ import annotations

import struct

from teleop_bridge.clock import NANOSECONDS

_LITTLE, _BIG = struct.Struct('<iI'), struct.Struct('>iI')
_ENCAPSULATION = 4  # bytes of the CDR encapsulation header; its second is 1 for little endian


def has_header(definition: str) -> bool:
    """Tell whether a ros2msg definition's first field is a std_msgs/Header."""
    for line in definition.splitlines():
        words = line.split('#', 1)[0].split()
        if words and '=' not in ''.join(words[1:]):
            return words[0] in ('std_msgs/Header', 'std_msgs/msg/Header')
    return False


def header_stamp_ns(data: bytes | memoryview) -> int | None:
    """Return the stamp of a serialised message that begins with a header; None where it is cut."""
    if len(data) < _ENCAPSULATION + 8:
        return None
    sec, nanosec = (_LITTLE if data[1] & 1 else _BIG).unpack_from(data, _ENCAPSULATION)
    return int(sec) * NANOSECONDS + int(nanosec)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a bag knows of one topic: its type, definition, hash and the QoS that was offered on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.schema import Storage

INFINITE_NS = 2**63 - 1


def _duration(nanoseconds: int) -> dict[str, int]:
    sec, nsec = divmod(nanoseconds, NANOSECONDS)
    return {'sec': sec, 'nsec': nsec}


def _nanoseconds(duration: Mapping[str, int]) -> int:
    return duration['sec'] * NANOSECONDS + duration['nsec']


@dataclass(frozen=True)
class Qos:
    """The QoS profile that one publisher offered, in rosbag2's words; times in ns."""

    reliability: str = 'reliable'
    durability: str = 'volatile'
    history: str = 'unknown'
    depth: int = 0
    deadline_ns: int = INFINITE_NS
    lifespan_ns: int = INFINITE_NS
    liveliness: str = 'automatic'
    lease_ns: int = INFINITE_NS

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping that rosbag2 (metadata version 9) writes, keys in its order."""
        return {
            'history': self.history,
            'depth': self.depth,
            'reliability': self.reliability,
            'durability': self.durability,
            'deadline': _duration(self.deadline_ns),
            'lifespan': _duration(self.lifespan_ns),
            'liveliness': self.liveliness,
            'liveliness_lease_duration': _duration(self.lease_ns),
            'avoid_ros_namespace_conventions': False,
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> Qos:
        """Return the profile of such a mapping; KeyError, TypeError where it is another."""
        return cls(
            reliability=str(entry['reliability']),
            durability=str(entry['durability']),
            history=str(entry['history']),
            depth=int(entry['depth']),
            deadline_ns=_nanoseconds(entry['deadline']),
            lifespan_ns=_nanoseconds(entry['lifespan']),
            liveliness=str(entry['liveliness']),
            lease_ns=_nanoseconds(entry['liveliness_lease_duration']),
        )


SENSOR_QOS = Qos(reliability='best_effort')
LATCHED_QOS = Qos(durability='transient_local', history='keep_last', depth=1)


@dataclass(frozen=True)
class TopicInfo:
    """One topic of a bag.

    ``schema_text`` is the full ros2msg definition, nested types included; ``type_hash`` the
    REP 2011 hash (``RIHS01_…``). A latched topic's last message is written again into every bag.
    """

    name: str
    type: str
    schema_text: str
    qos: tuple[Qos, ...] = (Qos(),)
    type_hash: str = ''
    latched: bool = False
    storage: Storage = Storage.RAW

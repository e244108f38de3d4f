# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Draft a rig file from what a bag holds, for a person to edit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
import re

import numpy as np

from curation.bag.decoder import full_type
from curation.bag.reader import BagReader
from curation.exceptions import BagError, DecodeError
from recorder.bag.metadata import to_yaml
from teleop_bridge.rig.loader import parse_rig
from teleop_bridge.rig.schema import Rig, Role

_ROLES = {
    'sensor_msgs/msg/Image': Role.CAMERA,
    'sensor_msgs/msg/CompressedImage': Role.CAMERA,
    'foxglove_msgs/msg/CompressedVideo': Role.CAMERA,
    'sensor_msgs/msg/CameraInfo': Role.CAMERA_INFO,
    'geometry_msgs/msg/WrenchStamped': Role.WRENCH,
    'geometry_msgs/msg/PoseStamped': Role.POSE,
    'teleop_flywheel/msg/Authority': Role.AUTHORITY,
    'teleop_flywheel/msg/Intervention': Role.INTERVENTION,
    'teleop_flywheel/msg/EpisodeStatus': Role.EPISODE,
}
JOINT_TYPES = ('sensor_msgs/msg/JointState', 'trajectory_msgs/msg/JointTrajectory')
_AGED = frozenset(Role) - {Role.CAMERA_INFO, Role.INTERVENTION, Role.EPISODE, Role.OTHER}
_REQUIRED = (Role.STATE, Role.ACTION, Role.CAMERA)
SAMPLES = 400  # messages per topic that are looked at
_SANE_DELAY_NS = 10_000_000_000
_ROUND_HZ = (1, 2, 5, 10, 15, 20, 25, 30, 50, 60, 90, 100, 125, 200, 250, 500, 1000)


@dataclass
class Observed:
    """What was seen of one topic: a bag's or, live, a subscription's. Times in ns."""

    name: str
    type: str
    log_ns: list[int] = field(default_factory=list)
    header_ns: list[int] = field(default_factory=list)
    joints: dict[str, None] = field(default_factory=dict)  # in order of appearance

    @property
    def header_usable(self) -> bool:
        """Tell whether its header stamps look like capture times."""
        if not self.header_ns or len(self.header_ns) != len(self.log_ns):
            return False
        delay = np.array(self.log_ns) - np.array(self.header_ns)
        return bool(np.abs(delay).max() < _SANE_DELAY_NS and min(self.header_ns) > 0)

    def rate_hz(self) -> float | None:
        """Return the usual rate, Hz, a common one within 3 %; None with too few messages."""
        stamps = np.sort(self.header_ns if self.header_usable else self.log_ns)
        if len(stamps) < 5 or stamps[-1] == stamps[0]:
            return None
        rate = 1e9 / max(float(np.median(np.diff(stamps))), 1.0)
        nearest = min(_ROUND_HZ, key=lambda hz: abs(hz - rate))
        return float(nearest) if abs(nearest / rate - 1) < 0.03 else float(f'{rate:.3g}')


def observe(bag: BagReader) -> list[Observed]:
    """Look at the first messages of every topic of a bag."""
    seen = {name: Observed(name, full_type(topic.type)) for name, topic in bag.topics.items()}
    for name, topic in seen.items():
        try:
            decoder = bag.decoder(name)
        except DecodeError:
            decoder = None
        for message, _ in zip(bag.messages([name]), range(SAMPLES), strict=False):
            topic.log_ns.append(message.log_ns)
            if decoder is None:
                continue
            try:
                if decoder.has_header:
                    topic.header_ns.append(decoder.stamp_ns(message.data))
                if topic.type in JOINT_TYPES:
                    decoded = decoder.decode(message.data)
                    names = getattr(decoded, 'name', ()) or getattr(decoded, 'joint_names', ())
                    topic.joints.update({str(joint): None for joint in names})
            except DecodeError:
                continue
    return list(seen.values())


def guess_role(topic: Observed) -> Role:
    """Return the likely role of a topic by its type and, for joints, the words in its name."""
    if topic.type in JOINT_TYPES:
        name = topic.name.lower()
        for words, role in (
            ('policy', Role.POLICY_PROPOSAL),
            ('leader|master|teleop|gello', Role.LEADER),
            ('command|cmd|action|target|desired|goal', Role.ACTION),
            ('load|effort', Role.LOAD),
        ):
            if re.search(words, name):
                if role is Role.LEADER and re.search('command|cmd', name):
                    return Role.HUMAN_PROPOSAL
                return role
        return Role.STATE if topic.type == JOINT_TYPES[0] else Role.ACTION
    role = _ROLES.get(topic.type, Role.OTHER)
    if role is Role.CAMERA and 'depth' in topic.name.lower():
        return Role.DEPTH
    return role


def draft_text(name: str, topics: Iterable[Observed]) -> str:
    """Return a rig file's text for topics; BagError where none of them could be aligned."""
    streams: dict[str, dict[str, object]] = {}
    joints: dict[str, None] = {}
    cameras: dict[str, dict[str, str]] = {}
    for topic in sorted(topics, key=lambda topic: topic.name):
        if not topic.log_ns:
            continue
        role = guess_role(topic)
        key = re.sub(r'\W+', '_', topic.name).strip('_')
        if role in (Role.STATE, Role.ACTION):
            joints.update(topic.joints)
        streams[key] = _stream(topic, role)
        if role is Role.CAMERA:
            cameras[_camera_name(key)] = {'image': key}
    roles = {stream['role'] for stream in streams.values()}
    if not roles - {Role.OTHER.value, Role.CAMERA_INFO.value}:
        raise BagError(
            f'{name}: no topic of a type that could be aligned (joints, images, wrenches)'
        )
    if not joints:
        for stream in streams.values():  # nothing says which joints the arm has
            if stream['role'] in ('leader', 'human_proposal', 'policy_proposal', 'load'):
                stream['role'] = Role.OTHER.value
    rig = {
        'rig': re.sub(r'\W+', '_', name) or 'rig',
        'robot_type': '',
        'clock': 'ros',
        'joints': {joint: {} for joint in joints},
        'streams': streams,
        'cameras': cameras,
    }
    head = (
        '# Drafted from recorded topics: check every role, add limits (lower, upper, velocity),\n'
        '# and leave out what training does not need. docs/rig_file.md explains the keys.\n'
    )
    return head + to_yaml(
        {key: value for key, value in rig.items() if value or key == 'robot_type'}
    )


def draft_rig(bag: BagReader) -> Rig:
    """Return the drafted rig of a bag, as ``flywheel rig draft`` would write it."""
    return parse_rig(draft_text(bag.name, observe(bag)), f'{bag.path}: drafted rig')


def _stream(topic: Observed, role: Role) -> dict[str, object]:
    stream: dict[str, object] = {'topic': topic.name, 'type': topic.type, 'role': role.value}
    rate = topic.rate_hz()
    if len(topic.log_ns) < 3 and role not in (Role.OTHER, Role.EPISODE):
        stream['latched'] = True
    if rate is not None:
        stream['rate_hz'] = rate
    if role in _AGED and 'latched' not in stream:
        stream['max_age_ms'] = max(round(3500 / rate), 50) if rate else 1000
    if not topic.header_usable:
        stream['stamp'] = 'receive'
    if role not in _REQUIRED:
        stream['required'] = False
    return stream


def _camera_name(key: str) -> str:
    words = [
        word
        for word in key.split('_')
        if word not in ('camera', 'image', 'raw', 'compressed', 'color', 'rgb')
    ]
    return '_'.join(words) or key


def write_draft(bag: BagReader, path: Path) -> None:
    """Write a bag's drafted rig file; BagError where the file exists."""
    if path.exists():
        raise BagError(f'{path}: exists; a draft never replaces a file')
    path.write_text(draft_text(bag.name, observe(bag)), encoding='utf-8')

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Read a rig file. ``docs/rig_file.md`` lists its keys."""

from __future__ import annotations

from collections.abc import Iterable
import math
from pathlib import Path

from teleop_bridge.rig.schema import (
    Camera,
    Clock,
    CommandOutput,
    Follower,
    Joint,
    JointKind,
    JointMap,
    LaunchInclude,
    OutputKind,
    ProtectiveStop,
    Rig,
    Role,
    Stamp,
    Storage,
    Stream,
)
from teleop_bridge.rig.section import parse_yaml, read_text, Section

_JOINT_ROLES = (Role.STATE, Role.ACTION, Role.LEADER, Role.HUMAN_PROPOSAL, Role.POLICY_PROPOSAL)
_TAKEOVERS = ('absolute', 'offset', 'align_first')
_WITH_TOPIC = (
    OutputKind.FLOAT64_MULTI_ARRAY,
    OutputKind.JOINT_TRAJECTORY,
    OutputKind.GRIPPER_COMMAND,
)
_BOOL = 'std_msgs/msg/Bool'
# Roles whose messages carry values that are aligned by a maximum age.
_ALIGNED_ROLES = frozenset(Role) - {
    Role.CAMERA_INFO,
    Role.INTERVENTION,
    Role.EPISODE,
    Role.OTHER,
}


def load_rig(path: Path | str) -> Rig:
    """Read a rig file; raises RigError naming file, key, what was expected and what was found."""
    path = Path(path)
    return parse_rig(read_text(path), str(path))


def parse_rig(text: str, path: str = 'rig') -> Rig:
    """Read a rig from its YAML text, such as the one that a bag carries; raises RigError."""
    top = parse_yaml(text, path)
    clock = top.choice('clock', Clock, Clock.SESSION)
    joints = tuple(_joint(name, section) for name, section in top.named('joints'))
    streams = tuple(
        _stream(name, section, clock) for name, section in top.named('streams', required=True)
    )
    rig = Rig(
        name=top.text('rig'),
        robot_type=top.text('robot_type', ''),
        clock=clock,
        joints=joints,
        streams=streams,
        mapping=_mapping(top.section('leader'), joints),
        cameras=tuple(_camera(name, section, streams) for name, section in top.named('cameras')),
        follower=_follower(top.section('follower'), joints, streams),
        strict_joints=top.flag('strict_joints', False),
        urdf=top.text('urdf', ''),
        launch=tuple(_include(section) for section in top.sections('launch')),
        devices=top.mapping('devices'),
        text=text,
        path=path,
    )
    _check_streams(top, streams, joints)
    top.done()
    return rig


def _joint(name: str, section: Section) -> Joint:
    lower = section.number('lower', -math.inf)
    upper = section.number('upper', math.inf)
    if lower >= upper:
        section.fail('lower', f'expected less than upper ({upper:g}), found {lower:g}')
    joint = Joint(
        name,
        lower=lower,
        upper=upper,
        velocity=section.number('velocity', math.inf, above=0),
        acceleration=section.number('acceleration', math.inf, above=0),
        kind=section.choice('kind', JointKind, JointKind.REVOLUTE),
    )
    section.done()
    return joint


def _stream(name: str, section: Section, clock: Clock) -> Stream:
    role = section.choice('role', Role)
    stream = Stream(
        name,
        topic=section.text('topic'),
        type=section.text('type'),
        role=role,
        rate_hz=section.number('rate_hz', None, above=0),
        max_age_ns=section.nanoseconds('max_age_ms', None),
        stamp=section.choice('stamp', Stamp, Stamp.HEADER),
        clock=section.choice('clock', Clock, clock),
        required=section.flag('required', True),
        storage=section.choice('storage', Storage, Storage.RAW),
        latched=section.flag('latched', False),
        units=section.text('units', ''),
    )
    if stream.type.count('/') != 2:
        section.fail(
            'type', f"expected a name such as sensor_msgs/msg/Image, found '{stream.type}'"
        )
    if role in _ALIGNED_ROLES and stream.max_age_ns is None and not stream.latched:
        section.fail('max_age_ms', f'required for the role {role.value}')
    if stream.clock is not clock:
        section.fail('clock', f'a rig has one clock ({clock.value}), found {stream.clock.value}')
    section.done()
    return stream


def _mapping(section: Section | None, joints: Iterable[Joint]) -> tuple[JointMap, ...]:
    if section is None:
        return ()
    names = [joint.name for joint in joints]
    rows = []
    for joint, row in section.named('mapping', required=True):
        if joint not in names:
            section.fail(f'mapping.{joint}', f'no such joint (joints: {", ".join(names)})')
        sign = row.whole('sign', 1)
        if sign not in (1, -1):
            row.fail('sign', f'expected 1 or -1, found {sign}')
        rows.append(
            JointMap(
                joint,
                source=row.text('source', joint),
                sign=sign,
                scale=row.number('scale', 1.0, above=0),
                offset=row.number('offset', 0.0),
                wrap=row.flag('wrap', False),
            )
        )
        row.done()
    mapped = [row.joint for row in rows]
    if missing := [name for name in names if name not in mapped]:
        section.fail('mapping', f"joint '{missing[0]}' is not mapped")
    section.done()
    return tuple(rows)


def _camera(name: str, section: Section, streams: Iterable[Stream]) -> Camera:
    by_name = {stream.name: stream for stream in streams}

    def stream(key: str, role: Role) -> str:
        given = section.text(key, '')
        if given and (given not in by_name or by_name[given].role is not role):
            section.fail(key, f"expected a stream of the role {role.value}, found '{given}'")
        return given

    camera = Camera(
        name,
        image=stream('image', Role.CAMERA) or section.text('image'),
        info=stream('info', Role.CAMERA_INFO) or None,
        depth=stream('depth', Role.DEPTH) or None,
        width=section.whole('width', 0) or None,
        height=section.whole('height', 0) or None,
        frame_id=section.text('frame_id', ''),
        parent_frame=section.text('parent_frame', ''),
        xyz=section.triple('xyz'),
        rpy=section.triple('rpy'),
        measured=section.text('measured', ''),
        source=section.text('source', ''),
        device=section.text('device', ''),
        calibration=section.text('calibration', ''),
    )
    if (camera.xyz is None) != (camera.rpy is None):
        section.fail('rpy', 'xyz and rpy are given together or not at all')
    if camera.xyz is not None and not (camera.frame_id and camera.parent_frame):
        section.fail('parent_frame', 'xyz and rpy need frame_id and parent_frame')
    section.done()
    return camera


def _follower(
    section: Section | None, joints: tuple[Joint, ...], streams: tuple[Stream, ...]
) -> Follower:
    if section is None:
        return Follower()
    default = Follower()
    names = tuple(joint.name for joint in joints)
    several = tuple(_output(entry, names) for entry in section.sections('outputs'))
    follower = Follower(
        rate_hz=section.number('rate_hz', default.rate_hz, above=0),
        ramp_ns=section.nanoseconds('ramp_ms', default.ramp_ns),
        max_age_ns=section.nanoseconds('max_age_ms', default.max_age_ns),
        max_lead=section.number('max_lead', math.inf, above=0),
        startup_velocity=section.number('startup_velocity', default.startup_velocity, above=0),
        startup_max_distance=section.number('startup_max_distance', math.inf, above=0),
        outputs=several or (_single_output(section, names),),
        protective_stop=_protective_stop(section.section('protective_stop'), streams),
        takeover=section.text('takeover', default.takeover),
    )
    if follower.takeover not in _TAKEOVERS:
        section.fail('takeover', f'expected one of {", ".join(_TAKEOVERS)}')
    section.done()
    return follower


def _single_output(section: Section, names: tuple[str, ...]) -> CommandOutput:
    kind = section.choice('output', OutputKind, OutputKind.JOINT_STATE)
    topic = section.text('output_topic', '')
    if kind in _WITH_TOPIC and not topic:
        section.fail('output_topic', f'required for {kind.value}')
    return CommandOutput(kind, topic=topic, joints=names)


def _output(section: Section, names: tuple[str, ...]) -> CommandOutput:
    kind = section.choice('kind', OutputKind)
    output = CommandOutput(
        kind,
        topic=section.text('topic') if kind in _WITH_TOPIC else '',
        joints=section.texts('joints') or names,
        rate_hz=section.number('rate_hz', None, above=0),
        controller=section.text('controller', ''),
        manager=section.text('controller_manager', CommandOutput.manager),
        max_effort=section.number('max_effort', CommandOutput.max_effort, low=0),
        resolution=section.number('resolution', CommandOutput.resolution, low=0),
    )
    if unknown := [name for name in output.joints if name not in names]:
        section.fail('joints', f"no such joint '{unknown[0]}' (joints: {', '.join(names)})")
    if kind is OutputKind.GRIPPER_COMMAND and len(output.joints) != 1:
        section.fail('joints', f'expected one joint, found {len(output.joints)}')
    section.done()
    return output


def _protective_stop(
    section: Section | None, streams: tuple[Stream, ...]
) -> ProtectiveStop | None:
    if section is None:
        return None
    stop = ProtectiveStop(section.text('stream'), when=section.flag('when', True))
    if (stop.stream, _BOOL) not in {(stream.name, stream.type) for stream in streams}:
        section.fail('stream', f"expected a stream of type {_BOOL}, found '{stop.stream}'")
    section.done()
    return stop


def _include(section: Section) -> LaunchInclude:
    include = LaunchInclude(
        package=section.text('package'),
        file=section.text('file'),
        arguments={key: str(value) for key, value in section.mapping('arguments').items()},
    )
    section.done()
    return include


def _check_streams(top: Section, streams: tuple[Stream, ...], joints: tuple[Joint, ...]) -> None:
    topics: dict[str, str] = {}
    for stream in streams:
        twin = topics.setdefault(stream.topic.lstrip('/'), stream.name)
        same_topic = next(s for s in streams if s.name == twin)
        if same_topic.type != stream.type:
            top.fail(
                f'streams.{stream.name}.type',
                f'{stream.topic} is {same_topic.type} in streams.{twin}, {stream.type} here',
            )
        if twin != stream.name and same_topic.role is stream.role:
            top.fail(f'streams.{stream.name}.topic', f'is the topic of streams.{twin} too')
    if not joints and (of_joints := [s.name for s in streams if s.role in _JOINT_ROLES]):
        top.fail('joints', f'required, since streams.{of_joints[0]} carries joints')

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a rig file declares: plain frozen dataclasses, SI units, integer nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
import math
from typing import Any


class Role(Enum):
    """What a stream is for. Several streams of one role are merged by joint name."""

    LEADER = 'leader'                    # the leader's joints, raw
    HUMAN_PROPOSAL = 'human_proposal'    # the human's command, mapped to follower joints
    POLICY_PROPOSAL = 'policy_proposal'  # the policy's command
    ACTION = 'action'                    # the executed command, after every limit
    STATE = 'state'                      # the follower's measured joints
    CAMERA = 'camera'
    DEPTH = 'depth'
    CAMERA_INFO = 'camera_info'
    WRENCH = 'wrench'
    LOAD = 'load'                        # gripper or joint effort
    POSE = 'pose'
    AUTHORITY = 'authority'
    INTERVENTION = 'intervention'
    EPISODE = 'episode'
    IK_VALIDITY = 'ik_validity'
    OTHER = 'other'                      # recorded, not aligned


class Stamp(Enum):
    """Which of a message's three times it is aligned on."""

    HEADER = 'header'
    PUBLISH = 'publish'
    RECEIVE = 'receive'


class Clock(Enum):
    """The clock that header stamps are on."""

    SESSION = 'session'  # monotonic time plus the session's fixed offset
    ROS = 'ros'          # wall (or ROS) time


class Storage(Enum):
    """How the recorder stores a stream."""

    RAW = 'raw'          # bytes as they came
    DRIVER = 'driver'    # already compressed by its driver
    CHUNK = 'chunk'      # lossless compression of the chunk


class JointKind(Enum):
    """What a joint moves."""

    REVOLUTE = 'revolute'
    CONTINUOUS = 'continuous'
    PRISMATIC = 'prismatic'
    GRIPPER = 'gripper'


@dataclass(frozen=True)
class Joint:
    """A follower joint and its limits: rad or m, per second, per second squared."""

    name: str
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf
    kind: JointKind = JointKind.REVOLUTE


@dataclass(frozen=True)
class JointMap:
    """One row of the leader's mapping: follower = sign * scale * leader + offset."""

    joint: str           # the follower's joint
    source: str          # the leader's joint
    sign: int = 1
    scale: float = 1.0
    offset: float = 0.0  # in the follower's unit
    wrap: bool = False   # unwrap the leader's angle at +-pi before mapping


@dataclass(frozen=True)
class Stream:
    """One topic with its declared role."""

    name: str
    topic: str
    type: str
    role: Role
    rate_hz: float | None = None
    max_age_ns: int | None = None
    stamp: Stamp = Stamp.HEADER
    clock: Clock = Clock.SESSION
    required: bool = True
    storage: Storage = Storage.RAW
    latched: bool = False
    units: str = ''


@dataclass(frozen=True)
class Camera:
    """A camera: which streams carry it, where it is mounted, what feeds it."""

    name: str
    image: str                                 # stream names
    info: str | None = None
    depth: str | None = None
    width: int | None = None
    height: int | None = None
    frame_id: str = ''
    parent_frame: str = ''
    xyz: tuple[float, float, float] | None = None       # m, in the parent frame
    rpy: tuple[float, float, float] | None = None       # rad, fixed axes (REP 103)
    measured: str = ''                                  # how and when extrinsics were measured
    source: str = ''                                    # sim, v4l2, video; '' is another package's
    device: str = ''
    calibration: str = ''


class OutputKind(Enum):
    """What drives the robot."""

    JOINT_STATE = 'joint_state'                  # the action stream itself, and nothing beside it
    FLOAT64_MULTI_ARRAY = 'float64_multi_array'  # ros2_control's forward command controllers
    JOINT_TRAJECTORY = 'joint_trajectory'        # joint_trajectory_controller's topic
    GRIPPER_COMMAND = 'gripper_command'          # a control_msgs GripperCommand action
    BUS = 'bus'                                  # servos on a serial bus of ours


@dataclass(frozen=True)
class CommandOutput:
    """One way on which the executed command leaves us, for some of the joints."""

    kind: OutputKind = OutputKind.JOINT_STATE
    topic: str = ''                # or the action's name
    joints: tuple[str, ...] = ()   # in the order that the controller has them
    rate_hz: float | None = None   # of the controller, where it needs more than the control rate
    controller: str = ''           # must be active at start; empty: not checked
    manager: str = 'controller_manager'
    max_effort: float = 0.0        # of a gripper, N; 0: the driver's own
    resolution: float = 0.005      # of a gripper: smaller changes are not sent, in its unit


@dataclass(frozen=True)
class ProtectiveStop:
    """The stream (std_msgs/msg/Bool) that tells a protective stop of the robot, and by what."""

    stream: str
    when: bool = True


@dataclass(frozen=True)
class Follower:
    """How the follower is driven."""

    rate_hz: float = 100.0
    ramp_ns: int = 150_000_000
    max_age_ns: int = 100_000_000          # of a proposal, before the follower holds
    max_lead: float = math.inf             # rad, between command and measurement
    startup_velocity: float = 0.5          # rad/s while approaching the leader's pose
    startup_max_distance: float = math.inf  # rad, beyond which start-up is refused
    outputs: tuple[CommandOutput, ...] = (CommandOutput(),)
    protective_stop: ProtectiveStop | None = None
    takeover: str = 'absolute'             # absolute, offset or align_first


@dataclass(frozen=True)
class LaunchInclude:
    """A launch file of another package that the rig needs."""

    package: str
    file: str
    arguments: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rig:
    """One rig as its YAML file declares it; ``text`` is that file, whole, as it goes into bags."""

    name: str
    robot_type: str
    clock: Clock
    joints: tuple[Joint, ...]
    streams: tuple[Stream, ...]
    mapping: tuple[JointMap, ...] = ()
    cameras: tuple[Camera, ...] = ()
    follower: Follower = Follower()
    strict_joints: bool = False
    urdf: str = ''
    launch: tuple[LaunchInclude, ...] = ()
    devices: dict[str, dict[str, Any]] = field(default_factory=dict)
    text: str = ''
    path: str = ''

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Follower joints in declared order, the order of every joint vector."""
        return tuple(joint.name for joint in self.joints)

    def stream(self, name: str) -> Stream:
        """Return the stream of that name; KeyError where there is none."""
        for stream in self.streams:
            if stream.name == name:
                return stream
        raise KeyError(name)

    def by_role(self, role: Role) -> tuple[Stream, ...]:
        """Return the streams of one role, in declared order."""
        return tuple(stream for stream in self.streams if stream.role is role)

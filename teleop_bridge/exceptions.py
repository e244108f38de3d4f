# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of teleop_bridge; FlywheelError is the root of all that the suite raises on purpose."""


class FlywheelError(Exception):
    """An ordinary mistake or fault, told in one sentence: file or stream, expected, found."""


class RigError(FlywheelError):
    """A rig, task or checks file is missing, unreadable or contradicts itself."""


class JointError(FlywheelError):
    """A joint is missing, repeated, unknown or not finite in a message."""


class MissingDependencyError(FlywheelError):
    """An optional library is not installed; the message names its pip package."""


class DeviceError(FlywheelError):
    """A device is absent, of another kind than declared, or stopped answering."""

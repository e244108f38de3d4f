# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of recorder."""

from teleop_bridge.exceptions import FlywheelError


class RecorderError(FlywheelError):
    """Anything that went wrong in recording."""


class BagExistsError(RecorderError):
    """The folder that a new bag was to go into is there already."""


class BagWriteError(RecorderError):
    """A bag could not be written: the disk is full, gone or read-only."""


class BagCorruptError(RecorderError):
    """A bag that should be readable is not: truncated, altered or empty."""


class TopicError(RecorderError):
    """A topic is unknown, of another type than declared, or its type has no definition."""


class SessionError(RecorderError):
    """A command that the session's state does not allow, or a session that can't be opened."""

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of curation."""

from teleop_bridge.exceptions import FlywheelError


class CurationError(FlywheelError):
    """Anything that went wrong in curation."""


class DemoError(CurationError):
    """The demo's rig refused something or did not answer in time."""


class ChildError(DemoError):
    """A process that the demo started ended before its time."""

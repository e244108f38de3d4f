# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A hand that commands only while its clutch (deadman) is held, and whose silence is a release."""

from __future__ import annotations

from enum import Enum


class Grip(Enum):
    """What the hand is doing."""

    HELD = 'held'  # the clutch is held: the hand commands
    RELEASED = 'released'  # the device is alive, but the hand does not command
    SILENT = 'silent'  # the device says nothing any more


class Clutch:
    """Follows a clutch from messages and from their absence.

    After silence the clutch must be seen released once before it counts as held again: a device
    that comes back with its last state must not grab the arm.
    """

    def __init__(self, *, timeout_ns: int) -> None:
        self._timeout_ns = timeout_ns
        self._last_ns: int | None = None
        self._pressed = False
        self._ready = False

    def update(self, pressed: bool, now_ns: int) -> None:
        """Take the clutch's state from a message that arrived at ``now_ns``."""
        if self.grip(now_ns) is Grip.SILENT:
            self._ready = False
        self._ready = self._ready or not pressed
        self._pressed = pressed
        self._last_ns = now_ns

    def grip(self, now_ns: int) -> Grip:
        """Return what the hand is doing at ``now_ns``."""
        if self._last_ns is None or now_ns - self._last_ns > self._timeout_ns:
            return Grip.SILENT
        return Grip.HELD if self._pressed and self._ready else Grip.RELEASED

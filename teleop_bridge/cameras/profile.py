# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a camera was asked for, what it can do, and what it does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from teleop_bridge.exceptions import DeviceError

_TOLERANCE = 0.1     # of the asked rate
_WARM_UP = 30        # frames before the rate is judged: drivers start slowly


@dataclass(frozen=True, order=True)
class Profile:
    """A mode of a camera; ``pixel_format`` as its driver names it, such as MJPG or YUYV."""

    width: int
    height: int
    rate_hz: float
    pixel_format: str

    def __str__(self) -> str:
        return f'{self.width}x{self.height} at {self.rate_hz:g} Hz {self.pixel_format}'


def require_profile(wanted: Profile, existing: Iterable[Profile], device: str) -> None:
    """Refuse what the camera doesn't offer; raises DeviceError naming the profiles that exist."""
    existing = sorted(set(existing))
    for profile in existing:
        same = profile.width, profile.height, profile.pixel_format
        fits = same == (wanted.width, wanted.height, wanted.pixel_format)
        if fits and abs(profile.rate_hz - wanted.rate_hz) < _TOLERANCE * wanted.rate_hz:
            return
    known = '; '.join(str(profile) for profile in existing) or 'none'
    raise DeviceError(f'{device}: {wanted} does not exist (profiles: {known})')


class RateCheck:
    """Refuses a camera that delivers another rate than it was asked for.

    Some halve theirs in the dark without a word (exposure longer than the period).
    """

    def __init__(self, wanted: Profile, existing: Iterable[Profile], device: str) -> None:
        self._wanted = wanted
        self._existing = tuple(existing)
        self._device = device
        self._stamps: list[int] = []

    def add(self, monotonic_ns: int) -> None:
        """Take a frame's time; raises DeviceError once enough show another rate."""
        if len(self._stamps) > _WARM_UP * 2:
            return
        self._stamps.append(monotonic_ns)
        if len(self._stamps) == _WARM_UP * 2:
            self._judge()

    def _judge(self) -> None:
        stamps = self._stamps[_WARM_UP:]
        measured = (len(stamps) - 1) / ((stamps[-1] - stamps[0]) / 1e9)
        if abs(measured - self._wanted.rate_hz) > _TOLERANCE * self._wanted.rate_hz:
            known = '; '.join(str(profile) for profile in sorted(set(self._existing))) or 'unknown'
            raise DeviceError(
                f'{self._device}: asked for {self._wanted}, it delivers {measured:.1f} Hz: '
                f'more light, a fixed exposure or another profile (profiles: {known})'
            )


class FrameCounter:
    """Counts frames that came, that the camera took but that never came, and that came twice."""

    def __init__(self) -> None:
        self.received = 0
        self.dropped = 0
        self.repeated = 0
        self._last_sequence: int | None = None
        self._last_ns = -1

    def add(self, sequence: int, monotonic_ns: int) -> bool:
        """Take one frame; tell whether it is a new one."""
        if monotonic_ns == self._last_ns:
            self.repeated += 1
            return False
        if self._last_sequence is not None and sequence > self._last_sequence + 1:
            self.dropped += sequence - self._last_sequence - 1
        self._last_sequence, self._last_ns = sequence, monotonic_ns
        self.received += 1
        return True

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""One recording as checks look at it: motion at native rate, image features, findings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from curation.align.episode import Times, Values
from curation.align.hold import hold
from curation.align.merge import merge_joints, Merged
from curation.align.options import OnGap
from curation.align.series import Recording, Series
from curation.checks.features import Features, image_features
from curation.checks.finding import Finding, Severity
from curation.exceptions import CurationError
from teleop_bridge.exceptions import FlywheelError, JointError
from teleop_bridge.rig.schema import Role

_FAR_PERIODS, _FAR_NS = 3, 60 * 10**9  # beyond which a stamp is on another clock


@dataclass(frozen=True)
class Motion:
    """Joints of one role at the times (n,) of its first stream: ``positions`` (n, k)."""

    stream: str
    names: tuple[str, ...]
    stamps_ns: Times
    positions: Values

    def __len__(self) -> int:
        return len(self.stamps_ns)

    @cached_property
    def period_s(self) -> float:
        """Return the median time between messages, s."""
        return float(np.median(np.diff(self.stamps_ns))) / 1e9 if len(self) > 1 else 0.0

    @cached_property
    def speeds(self) -> Values:
        """Return joint velocities (n - 1, k) from one message to the next, per s."""
        step = np.maximum(np.diff(self.stamps_ns), 1)[:, None] / 1e9
        return np.asarray(np.diff(self.positions, axis=0) / step)

    def at(self, times_ns: Times) -> Values:
        """Return the positions held at given times; NaN before the first message."""
        pick = hold(self.stamps_ns, times_ns, None)
        rows = self.positions[np.maximum(pick.index, 0)]
        return np.where(pick.fresh[:, None], rows, np.nan)


class View:
    """What checks read of one recording; everything derived is computed once."""

    def __init__(self, recording: Recording, *, images: bool = True) -> None:
        self.recording = recording
        self.rig = recording.rig
        self.episode = recording.name
        self._with_images = images
        self._motions: dict[Role, Motion | None] = {}
        self.faults: list[Finding] = []
        spans = _on_one_clock(
            [usual_span(s.stamps_ns) for s in recording.series.values() if len(s) and _lives(s)]
        )
        self.start_ns = min((start for start, _ in spans), default=0)
        self.end_ns = max((end for _, end in spans), default=0)

    def series(self, *roles: Role) -> list[Series]:
        """Return the streams of some roles, or all, that have messages."""
        return [
            s
            for s in self.recording.series.values()
            if len(s) and (not roles or s.stream.role in roles)
        ]

    def motion(self, role: Role) -> Motion | None:
        """Return a role's joints; None where they are not recorded or don't fit the rig."""
        if role not in self._motions:
            self._motions[role] = self._merge(role)
        return self._motions[role]

    @property
    def state(self) -> Motion | None:
        """Return the measured joints."""
        return self.motion(Role.STATE)

    @property
    def action(self) -> Motion | None:
        """Return the executed command."""
        return self.motion(Role.ACTION)

    @cached_property
    def features(self) -> dict[str, Features]:
        """Return small features of each colour camera's images, by stream."""
        found = {}
        if self._with_images:
            for series in self.series(Role.CAMERA):
                source = self.recording.frames.get(series.stream.name)
                if source is not None:
                    stamps = np.sort(series.stamps_ns)
                    found[series.stream.name] = image_features(source, stamps)
        return found

    def find(
        self,
        severity: Severity,
        stream: str,
        message: str,
        *,
        value: float,
        threshold: float,
        advice: str,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> Finding:
        """Return a finding of this episode; its check's name is put in by the registry."""
        start = self.start_ns if start_ns is None else int(start_ns)
        end = self.end_ns if end_ns is None else int(end_ns)
        return Finding(
            '',
            severity,
            self.episode,
            stream,
            start,
            end,
            float(value),
            float(threshold),
            message,
            advice,
        )

    def _merge(self, role: Role) -> Motion | None:
        several = [s for s in self.series(role) if s.joints is not None]
        if not several:
            return None
        names = [
            name
            for name in self.rig.joint_names
            if any(s.joints and name in s.joints.names for s in several)
        ]
        try:
            merged = merge_joints(
                role.value,
                several,
                names,
                strict=False,
                on_gap=OnGap.MASK,
                corrections_ns={},
                where=self.episode,
            )
        except (JointError, CurationError, FlywheelError):
            return None  # the check of joint names tells
        stamps = np.unique(several[0].stamps_ns)
        first, last = usual_span(stamps)
        stamps = stamps[(stamps >= first) & (stamps <= last)]
        positions = _sample(merged, stamps)
        there = np.isfinite(positions).all(axis=1)
        if there.sum() < 2:
            return None
        return Motion(several[0].stream.name, tuple(names), stamps[there], positions[there])


def usual_span(stamps_ns: Times) -> tuple[int, int]:
    """Return from when to when a stream's stamps are, ns, without those of another epoch.

    A stamp of zero, or of a clock that leapt by an hour, would make an episode of years.
    """
    stamps = np.sort(stamps_ns)
    if len(stamps) < 3:
        return int(stamps[0]), int(stamps[-1])
    far = _FAR_PERIODS * len(stamps) * float(np.median(np.diff(stamps))) + _FAR_NS
    middle = float(np.median(stamps))
    kept = stamps[np.abs(stamps - middle) <= far]
    kept = kept if len(kept) else stamps
    return int(kept[0]), int(kept[-1])


def _on_one_clock(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of streams on the clock that most are on."""
    if not spans:
        return spans
    middles = np.array([(start + end) / 2 for start, end in spans])
    longest = max(end - start for start, end in spans)
    near = np.abs(middles[:, None] - middles[None]) <= longest + _FAR_NS
    most = int(np.argmax(near.sum(axis=1)))
    return [span for span, same in zip(spans, near[most], strict=True) if same]


def _sample(merged: Merged, stamps: Times) -> Values:
    values = np.full((len(stamps), len(merged.names)), np.nan)
    for source in merged.sources:
        pick = hold(source.stamps_ns, stamps, None)
        rows = np.where(pick.fresh[:, None], source.values[np.maximum(pick.index, 0)], np.nan)
        values[:, source.columns] = rows
    return values


def _lives(series: Series) -> bool:
    return not series.stream.latched and series.stream.role not in (
        Role.CAMERA_INFO,
        Role.INTERVENTION,
    )

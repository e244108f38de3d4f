# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a collection's checks keep of each episode: small enough for thousands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Times, Values
from curation.checks.finding import Finding, Severity
from curation.checks.motion import (
    at_ends,
    clipped,
    cut_off,
    ends,
    Held,
    idle_parts,
    Span,
    stuck,
    tremor,
)
from curation.checks.offsets import camera_delay, joint_delay_change, joint_delays, JointDelays
from curation.checks.signal import Delay, Flags, uniform
from curation.checks.view import Motion, View
from teleop_bridge.rig.schema import JointKind, Role

_FINE = 8
POINTS = 64  # of the path that episodes are compared by
PARTS = 3  # of an episode, in which a camera is compared


@dataclass(frozen=True)
class CameraSummary:
    """One camera's episode: median images, and how static its background is.

    What has ``parts`` is of the episode's first, second and last third.
    """

    background: NDArray[np.float32]  # grey thumbnail (h, 160)
    colour: NDArray[np.float32]  # (parts, h / 4, 40, 3) RGB
    sharpness: NDArray[np.float64]  # (parts,)
    static: float  # share of pixels that hardly change
    scale: float  # full-size pixels per thumbnail pixel


@dataclass(frozen=True)
class Summary:
    """One episode; joint arrays follow ``names`` (k)."""

    episode: str
    id: str
    task: str
    session: str
    location: str
    stream: str
    start_ns: int
    end_ns: int
    names: tuple[str, ...]
    grippers: Flags  # (k,)
    median: Values  # (k,)
    ends: Values  # (2, k) lowest and highest value
    at_ends: Values  # (2, k) share of samples exactly there
    command_ends: Values  # (2, k) of the command, NaN without one
    command_at_ends: Values  # (2, k) share of samples exactly there
    command_cut: Values  # (2, k) share of samples in which it stops there as if cut off
    bias: Values  # (k,) median of state less command, NaN without
    path: Values  # (64, k) over normalised time
    tremor: Values  # (k,) rms between 4 and 12 Hz
    idle: tuple[Span, Span, Span]  # ns, at start, in the middle, at the end
    stuck: Held  # s, longest stand while commanded to move
    clipped: Held  # (2, k) share of samples at an end while commanded beyond it
    lags: JointDelays
    lag_change: JointDelays  # from the first half to the second
    camera_lags: Mapping[str, Delay] = field(default_factory=dict)
    cameras: Mapping[str, CameraSummary] = field(default_factory=dict)
    calibrations: Mapping[str, tuple[tuple[float, ...], str]] = field(default_factory=dict)

    @property
    def low(self) -> Values:
        """Return each joint's lowest value (k,)."""
        return np.asarray(self.ends[0])

    @property
    def high(self) -> Values:
        """Return each joint's highest value (k,)."""
        return np.asarray(self.ends[1])

    @property
    def duration_s(self) -> float:
        """Return the episode's duration, s."""
        return (self.end_ns - self.start_ns) / 1e9

    def span_of(self, parts: Sequence[int] | NDArray[np.intp]) -> Span:
        """Return from when to when some of the episode's thirds are, ns."""
        length = (self.end_ns - self.start_ns) // PARTS
        return (
            self.start_ns + int(min(parts)) * length,
            self.start_ns + (int(max(parts)) + 1) * length,
        )

    def find(
        self,
        severity: Severity,
        message: str,
        *,
        value: float,
        threshold: float,
        advice: str,
        stream: str = '',
        span_ns: Sequence[int] | Times | None = None,
    ) -> Finding:
        """Return a finding about the whole episode, or a span of it."""
        start, end = (self.start_ns, self.end_ns) if span_ns is None else span_ns
        return Finding(
            '',
            severity,
            self.episode,
            stream or self.stream,
            int(start),
            int(end),
            float(value),
            float(threshold),
            message,
            advice,
        )


def summarise(view: View) -> Summary | None:
    """Return an episode's summary; None where it has no usable state."""
    state = view.state
    if state is None or len(state) < 8:
        return None
    positions = state.positions
    commands = _commands(state, view.action)
    return Summary(
        episode=view.episode,
        id=view.recording.id,
        task=view.recording.facts.task,
        session=view.recording.facts.session_id,
        location=view.recording.facts.location,
        stream=state.stream,
        start_ns=view.start_ns,
        end_ns=view.end_ns,
        names=state.names,
        grippers=_grippers(view, state),
        median=np.median(positions, axis=0),
        ends=ends(positions),
        at_ends=at_ends(positions),
        command_ends=ends(commands),
        command_at_ends=at_ends(commands),
        command_cut=cut_off(commands),
        bias=_bias(state, view.action),
        path=_path(state),
        tremor=tremor(state),
        idle=idle_parts(state),
        stuck=stuck(state, view.action),
        clipped=clipped(state, view.action),
        lags=joint_delays(view),
        lag_change=joint_delay_change(view),
        camera_lags={
            name: lag for name in view.features if (lag := camera_delay(view, name)) is not None
        },
        cameras=_cameras(view),
        calibrations=_calibrations(view),
    )


def _grippers(view: View, state: Motion) -> Flags:
    kinds = {joint.name: joint.kind for joint in view.rig.joints}
    return np.array([kinds[name] is JointKind.GRIPPER for name in state.names])


def _commands(state: Motion, action: Motion | None) -> Values:
    """Return the commands (n, k) in the order of the state's joints; NaN for those without."""
    if action is None:
        return np.full((2, len(state.names)), np.nan)
    columns = [action.names.index(n) if n in action.names else -1 for n in state.names]
    padded = np.pad(action.positions, ((0, 0), (0, 1)), constant_values=np.nan)
    return np.asarray(padded[:, columns])


def _bias(state: Motion, action: Motion | None) -> Values:
    """Return the median of what each joint is beyond its command (k,); NaN without one."""
    bias = np.full(len(state.names), np.nan)
    if action is None:
        return bias
    commands = action.at(state.stamps_ns)
    for column, name in enumerate(state.names):
        if name in action.names:
            apart = state.positions[:, column] - commands[:, action.names.index(name)]
            known = np.isfinite(apart)
            if known.any():
                bias[column] = np.median(apart[known])
    return bias


def path_scale(paths: Values) -> Values:
    """Return what differences of paths (n, 64, k) are measured by, per joint (k,).

    Joints that hardly move count little: what they show is noise.
    """
    ranges = np.median(np.ptp(paths, axis=1), axis=0)
    return np.asarray(np.maximum(ranges, max(float(ranges.max()) / 2, 0.02)))


def _path(state: Motion) -> Values:
    seconds = (state.stamps_ns[-1] - state.stamps_ns[0]) / 1e9
    fine = np.linspace(0, seconds, POINTS * _FINE)
    values = uniform(state.stamps_ns, state.positions, fine, int(state.stamps_ns[0]))
    return np.asarray(values.reshape(POINTS, _FINE, -1).mean(axis=1))


def _cameras(view: View) -> dict[str, CameraSummary]:
    found = {}
    for name, features in view.features.items():
        if not len(features.thumbs):
            continue
        grey = features.thumbs.mean(axis=3, dtype=np.float32)
        background = np.asarray(np.median(grey, axis=0), np.float32)
        change = np.abs(grey - background)
        found[name] = CameraSummary(
            background,
            _colours(features.thumbs),
            _by_parts(features.sharpness),
            float((np.median(change, axis=0) < 4).mean()),
            features.scale,
        )
    return found


def _colours(thumbs: NDArray[np.uint8]) -> NDArray[np.float32]:
    height, width = thumbs.shape[1:3]
    size = width // 4, max(height // 4, 1)
    parts = [thumbs[min(k * len(thumbs) // PARTS, len(thumbs) - 1) :] for k in range(PARTS)]
    medians = [np.median(part[: max(len(thumbs) // PARTS, 1)], axis=0) for part in parts]
    small = [cv2.resize(m.astype(np.float32), size, interpolation=cv2.INTER_AREA) for m in medians]
    return np.asarray(small, np.float32)


def _by_parts(values: Values) -> Values:
    """Return the median of what is finite of each part; NaN where nothing is."""
    parts = [part[np.isfinite(part)] for part in np.array_split(values, PARTS)]
    return np.array([np.median(part) if len(part) else np.nan for part in parts])


def _calibrations(view: View) -> dict[str, tuple[tuple[float, ...], str]]:
    return {
        s.stream.name: (tuple(s.table.values[-1].tolist()), s.table.texts[-1])
        for s in view.series(Role.CAMERA_INFO)
        if s.table is not None
    }

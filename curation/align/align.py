# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Build samples: a pure function of (recording, options)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from curation.align.derived import relative, tip_pose, velocities
from curation.align.episode import Episode, Intervention, Signal, Times, Track, Values
from curation.align.extract import JOINT_ROLES
from curation.align.grid import default_rate, regular_grid, Span, span_of
from curation.align.hold import hold, next_at_or_after
from curation.align.merge import merge_joints, Merged, sort_stamps, Source
from curation.align.options import (
    AlignOptions,
    DEFAULT,
    Derivation,
    Derived,
    Interpolation,
    OnGap,
    Pairing,
)
from curation.align.sample import Picker, sample, Stale
from curation.align.series import Recording, Series
from curation.exceptions import AlignmentError, StreamError
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.schema import JointKind, Role

_IMAGES = (Role.CAMERA, Role.DEPTH)
_TIMELESS = (Role.CAMERA_INFO, Role.INTERVENTION)


@dataclass(frozen=True)
class _Input:
    """A signal to sample: by role for joints, by stream for other values."""

    name: str
    role: Role
    required: bool
    merged: Merged


def align(recording: Recording, options: AlignOptions = DEFAULT) -> list[Episode]:
    """Return the episode on its grid; several where ``on_gap`` is split and there are gaps.

    Raises StreamError where a required stream is missing, JointError where a joint is, and
    AlignmentError, naming stream, time and gap, where one is staler than its maximum age.
    """
    return _Aligner(recording, options).run()


class _Aligner:
    def __init__(self, recording: Recording, options: AlignOptions) -> None:
        self._recording = recording
        self._options = options
        self._rig = recording.rig
        self._where = recording.path
        self._corrections = dict(options.corrections_ns)
        for name in (*self._corrections, *options.interpolation):
            if name not in {stream.name for stream in self._rig.streams}:
                raise StreamError(
                    f"rig '{self._rig.name}': no stream '{name}' to correct or interpolate"
                )

    def run(self) -> list[Episode]:
        missing = [s for s in self._recording.missing if s.required and not s.latched]
        if missing:
            raise StreamError(
                f"{self._where}: required stream '{missing[0].name}' "
                f'({missing[0].topic}) has no message'
            )
        inputs = self._inputs()
        series = [s for s in self._recording.series.values() if s.stream.role not in _TIMELESS]
        grid = self._grid(self._spans(inputs, series))
        signals, stale = self._sample(inputs, grid)
        tracks: dict[str, Track] = {}
        for one in series:
            track, late = self._track(one, grid)
            tracks[one.stream.name] = track
            if late is not None:
                stale.append(late)
        valid = ~np.any([s.stale for s in stale], axis=0) if stale else np.ones(len(grid), bool)
        if self._options.on_gap is OnGap.RAISE and not valid.all():
            self._raise(stale, grid)
        return self._episodes(grid, signals, tracks, valid)

    def _inputs(self) -> list[_Input]:
        inputs = []
        for role in JOINT_ROLES:
            several = [s for s in self._recording.series.values() if s.stream.role is role]
            if not several:
                continue
            effort = role is Role.LOAD
            names: Sequence[str] = self._rig.joint_names
            if role in (Role.LEADER, Role.LOAD):
                names = tuple(
                    dict.fromkeys(n for s in several if s.joints for n in s.joints.names)
                )
            merged = merge_joints(
                role.value,
                several,
                names,
                strict=self._rig.strict_joints and role is Role.STATE,
                on_gap=self._options.on_gap,
                corrections_ns=self._corrections,
                where=self._where,
                effort=effort,
            )
            inputs.append(
                _Input(role.value, role, any(s.stream.required for s in several), merged)
            )
        for series in self._recording.series.values():
            if series.table is not None and series.stream.role not in _TIMELESS:
                inputs.append(
                    _Input(
                        series.stream.name,
                        series.stream.role,
                        series.stream.required,
                        self._merged(series),
                    )
                )
        return inputs

    def _merged(self, series: Series) -> Merged:
        assert series.table is not None
        order, stamps = sort_stamps(series, self._corrections.get(series.stream.name, 0))
        source = Source(
            series.stream.name,
            series.stream.max_age_ns,
            tuple(range(len(series.table.names))),
            stamps,
            series.table.values[order],
        )
        return Merged(series.table.names, (source,))

    def _spans(self, inputs: Sequence[_Input], series: Sequence[Series]) -> list[Span]:
        spans = [
            Span(source.stream, int(source.stamps_ns[0]), int(source.stamps_ns[-1]))
            for one in inputs
            if one.required
            for source in one.merged.sources
        ]
        for one in series:
            if one.stream.required and one.stream.role in _IMAGES and not one.stream.latched:
                _, stamps = sort_stamps(one, self._corrections.get(one.stream.name, 0))
                spans.append(Span(one.stream.name, int(stamps[0]), int(stamps[-1])))
        return spans

    def _grid(self, spans: Sequence[Span]) -> Times:
        start, end = span_of(self._recording, spans, self._options)
        name = self._options.clock_stream
        if name is None:
            rate = self._options.rate or default_rate(self._rig)
            return regular_grid(start, end, rate)
        if name not in self._recording.series:
            raise StreamError(f"{self._where}: no stream '{name}' to take the grid from")
        _, stamps = sort_stamps(self._recording.series[name], self._corrections.get(name, 0))
        return np.unique(stamps[(stamps >= start) & (stamps <= end)])

    def _picker(self, role: Role) -> Picker:
        forwards = role is Role.ACTION and self._options.pairing is Pairing.NEXT
        return next_at_or_after if forwards else hold

    def _sample(
        self, inputs: Sequence[_Input], grid: Times
    ) -> tuple[dict[str, Signal], list[Stale]]:
        grippers = frozenset(
            i for i, joint in enumerate(self._rig.joints) if joint.kind is JointKind.GRIPPER
        )
        signals, stale = {}, []
        for one in inputs:
            kinds = {
                self._options.interpolation.get(source.stream, Interpolation.HOLD)
                for source in one.merged.sources
            }
            kind = kinds.pop() if len(kinds) == 1 else Interpolation.HOLD
            held = grippers if one.role in JOINT_ROLES else frozenset()
            signal, late = sample(one.merged, grid, self._picker(one.role), kind, held)
            signals[one.name] = signal
            if one.required:
                stale += late
        by_role = {one.role: one for one in inputs}
        for declared in self._options.derived:
            signals[declared.name] = self._derive(declared, by_role, signals, grid)
        return signals, stale

    def _derive(
        self,
        declared: Derived,
        inputs: Mapping[Role, _Input],
        signals: Mapping[str, Signal],
        grid: Times,
    ) -> Signal:
        role = Role.ACTION if declared.derivation is Derivation.RELATIVE else declared.role
        for needed in {role, declared.role}:
            if needed not in inputs or needed not in JOINT_ROLES:
                raise StreamError(
                    f"{self._where}: '{declared.name}' needs joints of the role {needed.value}"
                )
        if declared.name in signals:
            raise StreamError(f"{self._where}: '{declared.name}' is a stream already")
        if declared.derivation is Derivation.RELATIVE:
            return relative(signals[Role.ACTION.value], signals[declared.role.value])
        if declared.derivation is Derivation.TIP_POSE:
            return tip_pose(self._rig, declared.frame, signals[role.value])
        several = [s for s in self._recording.series.values() if s.stream.role is role]
        merged = velocities(inputs[role].merged, several)
        return sample(merged, grid, self._picker(role))[0]

    def _track(self, series: Series, grid: Times) -> tuple[Track, Stale | None]:
        stream = series.stream
        _, stamps = sort_stamps(series, self._corrections.get(stream.name, 0))
        pick = self._picker(stream.role)(
            stamps, grid, None if stream.latched else stream.max_age_ns
        )
        used = np.where(pick.fresh, pick.index, -1)
        track = Track(stream, used, stamps[np.maximum(pick.index, 0)], pick.age_ns, pick.fresh)
        if stream.role not in _IMAGES or not stream.required or stream.latched:
            return track, None
        return track, Stale(stream.name, stream.max_age_ns, pick.age_ns, ~pick.fresh)

    def _raise(self, stale: Sequence[Stale], grid: Times) -> None:
        first = min((s for s in stale if s.stale.any()), key=lambda s: int(np.argmax(s.stale)))
        at = int(np.argmax(first.stale))
        gap, time = abs(int(first.age_ns[at])), int(grid[at])
        since = (time - int(grid[0])) / NANOSECONDS
        raise AlignmentError(
            f"{self._where}: stream '{first.stream}' has no fresh message at {time} ns "
            f'({since:.3f} s after the start): the nearest is {gap / 1e6:.1f} ms away, '
            f'the maximum age is {(first.max_age_ns or 0) / 1e6:.1f} ms',
            stream=first.stream,
            time_ns=time,
            gap_ns=gap,
        )

    def _episodes(
        self,
        grid: Times,
        signals: Mapping[str, Signal],
        tracks: Mapping[str, Track],
        valid: NDArray[np.bool_],
    ) -> list[Episode]:
        if self._options.on_gap is not OnGap.SPLIT:
            return [self._episode(grid, signals, tracks, valid, slice(None), 0)]
        edges = np.flatnonzero(np.diff(np.concatenate([[0], valid.astype(np.int8), [0]])))
        spans = [slice(a, b) for a, b in edges.reshape(-1, 2).tolist() if b - a > 1]
        if not spans:
            raise StreamError(
                f'{self._where}: no two neighbouring samples are fresh in all streams'
            )
        return [
            self._episode(grid, signals, tracks, valid, span, part)
            for part, span in enumerate(spans)
        ]

    def _episode(
        self,
        grid: Times,
        signals: Mapping[str, Signal],
        tracks: Mapping[str, Track],
        valid: NDArray[np.bool_],
        span: slice,
        part: int,
    ) -> Episode:
        times = grid[span]
        cut = {
            name: Signal(s.names, s.values[span], s.staleness_ns[span], s.valid[span])
            for name, s in signals.items()
        }
        kept = {
            name: Track(
                t.stream, t.indices[span], t.stamps_ns[span], t.staleness_ns[span], t.valid[span]
            )
            for name, t in tracks.items()
        }

        def values(role: Role) -> Values | None:
            return cut[role.value].values if role.value in cut else None

        state = values(Role.STATE)
        if state is None:
            state = np.full((len(times), len(self._rig.joints)), np.nan)
        recording = self._recording
        action = cut.get(Role.ACTION.value)
        lag = np.zeros(len(times), np.int64)
        if action is not None and action.staleness_ns.shape[1]:
            lag = -action.staleness_ns.min(axis=1)
        step = np.diff(times)
        rate = self._options.rate or (
            None if self._options.clock_stream else default_rate(self._rig)
        )
        authority, ids = self._authority(kept, cut, times)
        return Episode(
            id=recording.id,
            name=recording.name,
            path=recording.path,
            rig=self._rig,
            facts=recording.facts,
            grid_ns=times,
            state=state,
            action=values(Role.ACTION),
            human=values(Role.HUMAN_PROPOSAL),
            policy=values(Role.POLICY_PROPOSAL),
            authority=authority,
            intervention_id=ids,
            interventions=recording.interventions,
            tracks=kept,
            signals=cut,
            valid=valid[span],
            action_lag_ns=lag,
            period_ns=float(NANOSECONDS / rate)
            if rate
            else float(np.median(step))
            if len(step)
            else 0,
            problems=recording.problems,
            part=part,
            frames=recording.frames,
        )

    def _authority(
        self, tracks: Mapping[str, Track], signals: Mapping[str, Signal], times: Times
    ) -> tuple[Values, tuple[str, ...]]:
        """Return the human's weight and the intervention's id, as the follower stated them."""
        for name, track in tracks.items():
            series = self._recording.series[name]
            if track.stream.role is Role.AUTHORITY and series.table is not None:
                order, _ = sort_stamps(series, 0)
                texts = np.asarray([*series.table.texts, ''], object)
                rows = np.append(order, len(order))[track.indices]
                return signals[name].values[:, 0], tuple(texts[rows].tolist())
        ids = np.full(len(times), '', object)
        for one in self._recording.interventions:
            ids[_within(one, times)] = one.id
        return np.full(len(times), np.nan), tuple(ids.tolist())


def _within(intervention: Intervention, times: Times) -> NDArray[np.bool_]:
    end = intervention.end_ns if intervention.end_ns is not None else np.iinfo(np.int64).max
    return np.asarray((times >= intervention.begin_ns) & (times < end))

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Interventions: what begins one, and its stamped events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.vocabulary import InterventionEvent, InterventionKind, Trigger


class InterventionError(FlywheelError):
    """An intervention can't be begun, ended or labelled as asked."""


@dataclass(frozen=True)
class Event:
    """One stamped event of an intervention, as Intervention.msg carries it."""

    stamp_ns: int
    id: str
    event: InterventionEvent
    trigger: Trigger
    kind: str = ''
    reason: str = ''
    note: str = ''


class InterventionLog:
    """Begins, ends and labels interventions, one at a time.

    A label may come at the moment or within ``label_window_ns`` after the end; what was never
    named stays unnamed.
    """

    def __init__(self, *, reasons: tuple[str, ...], label_window_ns: int) -> None:
        self._reasons = reasons
        self._label_window_ns = label_window_ns
        self._known: dict[str, Trigger] = {}
        self._ended_ns: dict[str, int] = {}
        self._named: set[str] = set()
        self._open: str | None = None
        self._handover: str | None = None

    @property
    def open_id(self) -> str | None:
        """Return the intervention under way."""
        return self._open

    @property
    def unnamed(self) -> tuple[str, ...]:
        """Return the interventions that nobody has named, the first of them first."""
        return tuple(known for known in self._known if known not in self._named)

    def begin(self, trigger: Trigger, now_ns: int) -> Event:
        """Begin one; raises InterventionError where one is under way."""
        if self._open is not None:
            raise InterventionError(f'intervention {self._open} is under way already')
        self._open = self._handover = f'i{now_ns // 1_000_000}'
        self._known[self._open] = trigger
        return Event(now_ns, self._open, InterventionEvent.BEGIN, trigger)

    def end(self, now_ns: int) -> Event:
        """End the one under way; raises InterventionError where none is."""
        if self._open is None:
            raise InterventionError('no intervention is under way')
        ended, self._open = self._open, None
        self._ended_ns[ended] = now_ns
        self._handover = ended
        return Event(now_ns, ended, InterventionEvent.END, self._known[ended])

    def converged(self, stamp_ns: int) -> Event | None:
        """Say that the command has converged; None where no handover was under way."""
        handover, self._handover = self._handover, None
        if handover is None:
            return None
        return Event(stamp_ns, handover, InterventionEvent.CONVERGED, self._known[handover])

    def label(
        self, *, intervention_id: str, kind: str, reason: str, note: str, now_ns: int
    ) -> Event:
        """Name the kind and reason of one, the latest where ``intervention_id`` is empty.

        Raises InterventionError, naming what is allowed.
        """
        if not self._known:
            raise InterventionError('there is no intervention to label yet')
        labelled = intervention_id or next(reversed(self._known))
        if labelled not in self._known:
            raise InterventionError(
                f"no intervention '{labelled}' (latest: {next(reversed(self._known))})"
            )
        if now_ns - self._ended_ns.get(labelled, now_ns) > self._label_window_ns:
            window_s = self._label_window_ns / 1e9
            raise InterventionError(
                f'{labelled} ended more than {window_s:.0f} s ago: label it in review'
            )
        kinds = [option.value for option in InterventionKind]
        if kind not in kinds:
            raise InterventionError(f"kind: expected one of {', '.join(kinds)}, found '{kind}'")
        if reason not in self._reasons:
            raise InterventionError(
                f"reason: expected one of {', '.join(self._reasons)}, found '{reason}'"
            )
        if reason == 'other' and not note:
            raise InterventionError("reason 'other' needs a note")
        trigger = self._known[labelled]
        self._named.add(labelled)
        return Event(now_ns, labelled, InterventionEvent.LABEL, trigger, kind, reason, note)


class ThresholdTrigger:
    """Fires once when a value reaches ``high``, and again only after it fell to ``low``."""

    def __init__(self, *, high: float, low: float) -> None:
        if low > high:
            raise InterventionError(
                f'a trigger re-arms below its threshold: {low:g} is above {high:g}'
            )
        self._high = high
        self._low = low
        self._armed = True

    def update(self, value: float) -> bool:
        """Take a value; tell whether it fires now."""
        if value <= self._low:
            self._armed = True
        fires = self._armed and value >= self._high
        if fires:
            self._armed = False
        return fires


class LeaderMotionTrigger:
    """Fires when the leader is moved on purpose: fast enough, and far from where it rested.

    Both must hold at once for one joint: a knock is fast but short, a slow sag is far but slow.
    ``speed`` per second and ``distance`` are in joint units. It re-arms when the leader has
    rested, below half the speed, for ``rest_ns``.
    """

    def __init__(self, *, speed: float, distance: float, rest_ns: int = 300_000_000) -> None:
        self._speed = speed
        self._distance = distance
        self._rest_ns = rest_ns
        self._anchor: NDArray[np.float64] | None = None
        self._last: NDArray[np.float64] | None = None
        self._last_ns = 0
        self._moved_ns = 0
        self._armed = True

    def update(self, positions: NDArray[np.float64], stamp_ns: int) -> bool:
        """Take the leader's pose, shape (n,); tell whether it fires now."""
        if self._last is None or self._anchor is None:
            self._anchor = self._last = positions
            self._last_ns = self._moved_ns = stamp_ns
            return False
        if stamp_ns <= self._last_ns:
            return False
        speed = np.abs(positions - self._last) / ((stamp_ns - self._last_ns) / 1e9)
        self._last, self._last_ns = positions, stamp_ns
        if speed.max() > self._speed / 2:
            self._moved_ns = stamp_ns
        elif stamp_ns - self._moved_ns >= self._rest_ns:
            self._anchor, self._armed = positions, True
        far = np.abs(positions - self._anchor) > self._distance
        fires = self._armed and bool(np.any(far & (speed > self._speed)))
        if fires:
            self._armed = False
        return fires

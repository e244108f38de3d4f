# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The follower's command, one control period after another: blend, limit, hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.authority import Authority
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.joints import JointSample
from teleop_bridge.limits import Limiter
from teleop_bridge.rig.schema import Rig
from teleop_bridge.transition import FadeOut
from teleop_bridge.vocabulary import Phase

Vector = NDArray[np.float64]

# A follower silent for longer may have lost its power and sagged: its pose is taken anew.
_LOST_NS = NANOSECONDS
CONVERGED_RAD = 0.01  # how near a joint is to its source when a handover or an approach is over


class TakeoverMode(Enum):
    """How the hand's pose becomes a command at a takeover."""

    ABSOLUTE = 'absolute'  # the follower goes to the leader's pose
    OFFSET = 'offset'  # the hand moves the follower from where it took over
    ALIGN_FIRST = 'align_first'  # authority moves once the leader is at the follower's pose


@dataclass(frozen=True)
class FollowerOutput:
    """What one control period executed; joint vectors have shape (n,), in the rig's order."""

    stamp_ns: int
    command: Vector | None  # None until the follower's pose is known
    weight: float
    phase: Phase
    source: str  # human, policy, blend or none
    intervention_id: str
    converged: bool
    handover_ended: bool  # in this very period
    reason: str  # why it holds or approaches, else empty


class FollowerCore:
    """Blends the proposals by authority, keeps every limit, holds when a source is stale.

    Feed it with ``human``, ``policy`` and ``measured`` as messages come; call ``step`` once a
    period. It is the same object under the follower node and in the headless rig.
    """

    def __init__(self, rig: Rig, *, human_first: bool = True) -> None:
        self._names = rig.joint_names
        self._settings = rig.follower
        self._mode = TakeoverMode(rig.follower.takeover)
        self._period_ns = round(NANOSECONDS / rig.follower.rate_hz)
        self._authority = Authority(ramp_ns=rig.follower.ramp_ns, human=human_first)
        self._limiter = Limiter(rig)
        self._human: JointSample | None = None
        self._policy: JointSample | None = None
        self._measured: JointSample | None = None
        self._offset = np.zeros(len(self._names))  # of the hand, in offset takeovers
        self._residual: FadeOut | None = None  # executed minus blend, fading
        self._pending_id: str | None = None  # a takeover that waits for alignment
        self._last_ns: int | None = None
        self._last_wanted: Vector | None = None
        self._wanted_rate = np.zeros(len(self._names))
        self._approaching = True
        self._stopped = ''  # why, until reset
        self._moved = False  # by others than us, while it was stopped

    def human(self, sample: JointSample) -> None:
        """Take the human's proposal, in follower joints and the rig's order."""
        self._human = sample

    def policy(self, sample: JointSample) -> None:
        """Take the policy's proposal, in the rig's order."""
        self._policy = sample

    def measured(self, sample: JointSample) -> None:
        """Take the follower's measured joints, in the rig's order."""
        last = self._measured
        self._measured = sample
        if last is not None and sample.stamp_ns - last.stamp_ns > _LOST_NS:
            self._limiter.seed(sample.positions)
            self._approach()

    def take_over(self, intervention_id: str, now_ns: int) -> None:
        """Begin a takeover by the human."""
        if self._mode is TakeoverMode.ALIGN_FIRST and not self._aligned():
            self._pending_id = intervention_id
            return
        self._begin_takeover(intervention_id, now_ns)

    def hand_back(self, now_ns: int) -> None:
        """Hand authority back to the policy."""
        self._pending_id = None
        if self._authority.to_human:
            self._reseed(now_ns)
            self._authority.hand_back(now_ns)

    def estop(self) -> None:
        """Stop and stay stopped until ``reset``."""
        self._stopped = self._stopped or 'emergency stop'

    def protective_stop(self) -> None:
        """Stop as ``estop`` does: the robot has stopped by itself, and where is only measured."""
        self._stopped, self._moved = "the robot's protective stop", True

    def reset(self) -> None:
        """Leave the stop: the follower approaches its source slowly."""
        if self._moved and self._measured is not None:
            self._limiter.seed(self._measured.positions)
        self._stopped, self._moved = '', False
        self._approach()

    def step(self, now_ns: int) -> FollowerOutput:
        """Compute the command of the period that begins at session time ``now_ns``."""
        dt_s = self._elapsed_s(now_ns)
        if np.isnan(self._limiter.positions).any():
            if self._measured is None:
                return self._held(now_ns, 'the follower has not been measured yet', command=None)
            self._limiter.seed(self._measured.positions)
        if self._stopped:
            self._approach()
            return self._held(now_ns, self._stopped, dt_s=dt_s, phase=Phase.ESTOP)
        if self._pending_id is not None and self._aligned():
            self._begin_takeover(self._pending_id, now_ns)
        weight = self._authority.state(now_ns).weight
        if reason := self._stale(weight, now_ns):
            self._approach()
            return self._held(now_ns, reason, dt_s=dt_s)
        wanted = self._blend(weight, now_ns, dt_s)
        if self._approaching:
            return self._step_approach(wanted, now_ns, dt_s)
        measured = None if self._measured is None else self._measured.positions
        command = self._limiter.step(wanted, dt_s, measured=measured)
        return self._driven(command, wanted, now_ns)

    def _begin_takeover(self, intervention_id: str, now_ns: int) -> None:
        self._pending_id = None
        if not self._authority.to_human:
            self._reseed(now_ns)
            if self._mode is TakeoverMode.OFFSET and self._human is not None:
                self._offset = self._limiter.positions - self._human.positions
        self._authority.take_over(intervention_id, now_ns)

    def _aligned(self) -> bool:
        if self._human is None:
            return False
        return bool(
            np.all(np.abs(self._human.positions - self._limiter.positions) < CONVERGED_RAD)
        )

    def _reseed(self, now_ns: int) -> None:
        """Start from what is being executed; what limits held back fades with the ramp."""
        if self._last_wanted is None:
            return
        ramp_ns = self._settings.ramp_ns
        held_back = self._limiter.positions - self._last_wanted
        drift = (self._limiter.rate - self._wanted_rate) * ramp_ns / NANOSECONDS
        self._residual = FadeOut(self._faded(now_ns) + held_back, drift, now_ns, ramp_ns)

    def _faded(self, now_ns: int) -> Vector:
        if self._residual is None:
            return np.zeros(len(self._names))
        return self._residual.at(now_ns)

    def _blend(self, weight: float, now_ns: int, dt_s: float) -> Vector:
        wanted = self._faded(now_ns)
        if weight > 0.0:
            assert self._human is not None
            wanted = wanted + weight * (self._human.positions + self._offset)
        if weight < 1.0:
            assert self._policy is not None
            wanted = wanted + (1.0 - weight) * self._policy.positions
        if self._last_wanted is not None:
            self._wanted_rate = (wanted - self._last_wanted) / dt_s
        self._last_wanted = wanted
        return wanted

    def _stale(self, weight: float, now_ns: int) -> str:
        sources = (
            ('follower', 'state', True, self._measured),
            ('leader', 'command', weight > 0.0, self._human),
            ('policy', 'command', weight < 1.0, self._policy),
        )
        for name, what, needed, sample in sources:
            if not needed:
                continue
            if sample is None:
                return f'no {what} from the {name} yet'
            age_ns = now_ns - sample.stamp_ns
            if age_ns > self._settings.max_age_ns:
                return f'the {name} is stale: its last {what} is {age_ns / 1e6:.0f} ms old'
            if age_ns < -self._settings.max_age_ns:
                return f"the {name}'s last {what} is stamped {-age_ns / 1e6:.0f} ms in the future"
        return ''

    def _approach(self) -> None:
        """Go to the source slowly next: what it did meanwhile was not followed."""
        self._approaching = True
        self._residual = None
        self._last_wanted = None
        self._wanted_rate = np.zeros(len(self._names))

    def _step_approach(self, wanted: Vector, now_ns: int, dt_s: float) -> FollowerOutput:
        distance = np.abs(wanted - self._limiter.positions)
        worst = int(np.argmax(distance))
        if distance[worst] > self._settings.startup_max_distance:
            reason = (
                f"joint '{self._names[worst]}' is {distance[worst]:.2f} from its source, "
                f'more than {self._settings.startup_max_distance:.2f}: bring the leader near'
            )
            return self._held(now_ns, reason, dt_s=dt_s)
        velocity = self._settings.startup_velocity
        command = self._limiter.step(wanted, dt_s, max_velocity=velocity)
        # Near enough that the last bit is not closed any faster than the approach was.
        if np.all(np.abs(wanted - command) < min(CONVERGED_RAD, velocity * dt_s)):
            self._approaching = False
            return self._driven(command, wanted, now_ns)
        state = self._authority.state(now_ns)
        return FollowerOutput(
            now_ns,
            command,
            state.weight,
            Phase.STARTUP,
            self._source(state.weight),
            state.intervention_id,
            state.converged,
            False,
            'approaching its source slowly',
        )

    def _driven(self, command: Vector, wanted: Vector, now_ns: int) -> FollowerOutput:
        near = bool(np.all(np.abs(command - wanted) < CONVERGED_RAD))
        ended = near and self._authority.settle(now_ns)
        state = self._authority.state(now_ns)
        return FollowerOutput(
            now_ns,
            command,
            state.weight,
            state.phase,
            self._source(state.weight),
            state.intervention_id,
            state.converged,
            ended,
            '',
        )

    def _held(
        self,
        now_ns: int,
        reason: str,
        *,
        dt_s: float = 0.0,
        phase: Phase = Phase.HOLD,
        command: Vector | None = None,
    ) -> FollowerOutput:
        if dt_s:
            command = self._limiter.brake(dt_s)
        state = self._authority.state(now_ns)
        return FollowerOutput(
            now_ns,
            command,
            state.weight,
            phase,
            'none',
            state.intervention_id,
            state.converged,
            False,
            reason,
        )

    def _elapsed_s(self, now_ns: int) -> float:
        """Return the time since the last period, held near the nominal one: s."""
        elapsed = self._period_ns if self._last_ns is None else now_ns - self._last_ns
        self._last_ns = now_ns
        return min(max(elapsed, self._period_ns // 2), 2 * self._period_ns) / NANOSECONDS

    @staticmethod
    def _source(weight: float) -> str:
        return {1.0: 'human', 0.0: 'policy'}.get(weight, 'blend')

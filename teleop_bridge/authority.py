# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Whose command is executed, by how much, and when a handover is over."""

from __future__ import annotations

from dataclasses import dataclass

from teleop_bridge.ramp import Ramp
from teleop_bridge.vocabulary import Phase


@dataclass(frozen=True)
class AuthorityState:
    """Authority at one instant."""

    weight: float  # the human's, 0 to 1
    phase: Phase
    intervention_id: str
    converged: bool


class Authority:
    """The human's weight over time.

    A handover begins with ``take_over`` or ``hand_back`` and ends when the ramp is through *and*
    the caller has said that the executed command has converged (``settle``).
    """

    def __init__(self, *, ramp_ns: int, human: bool) -> None:
        self._ramp = Ramp(duration_ns=ramp_ns, weight=1.0 if human else 0.0)
        self._intervention_id = ''
        self._converged = True

    @property
    def to_human(self) -> bool:
        """Whether the human drives or is about to."""
        return self._ramp.target == 1.0

    def take_over(self, intervention_id: str, now_ns: int) -> None:
        """Give authority to the human, from now on and smoothly."""
        self._intervention_id = intervention_id
        self._go(1.0, now_ns)

    def hand_back(self, now_ns: int) -> None:
        """Give authority to the policy, from now on and smoothly."""
        self._go(0.0, now_ns)

    def settle(self, now_ns: int) -> bool:
        """Say that the command is at its source; return whether that ends a handover."""
        if self._converged or self._ramp.moving(now_ns):
            return False
        self._converged = True
        if not self.to_human:
            self._intervention_id = ''
        return True

    def state(self, now_ns: int) -> AuthorityState:
        """Return authority at ``now_ns``."""
        if self._ramp.moving(now_ns):
            phase = Phase.TO_HUMAN if self.to_human else Phase.TO_POLICY
        else:
            phase = Phase.HUMAN if self.to_human else Phase.POLICY
        weight = self._ramp.weight(now_ns)
        return AuthorityState(weight, phase, self._intervention_id, self._converged)

    def _go(self, target: float, now_ns: int) -> None:
        if self._ramp.target != target:
            self._ramp.go(target, now_ns)
            self._converged = False

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The session's state machine: one operator, one sitting, blocks of episodes with breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from recorder.exceptions import SessionError
from recorder.proposals import Proposal
from teleop_bridge.vocabulary import Grade, SessionState


@dataclass(frozen=True)
class Plan:
    """What a session is to collect; a zero means without limit. Times in ns."""

    episodes_per_block: int = 0
    blocks: int = 0
    episode_limit_ns: int = 0
    reset_limit_ns: int = 0
    break_ns: int = 0
    targets: Mapping[str, int] = field(default_factory=dict)  # location id -> episodes wanted
    proposals: tuple[Proposal, ...] = ()  # asked for, each once, when the targets are met

    @property
    def target(self) -> int:
        """Return the number of episodes planned, 0 for an open end."""
        return self.episodes_per_block * self.blocks


@dataclass(frozen=True)
class Kept:
    """An episode that counts."""

    index: int
    location: str
    grade: str
    proposed: tuple[float, float] | None = None  # xy of the proposal that was asked for


@dataclass(frozen=True)
class Attempt:
    """An episode being started: its number in the session, its block and place."""

    index: int
    block: int
    location: str
    proposal: Proposal | None = None


class Due(Enum):
    """What the clock demands."""

    EPISODE_OVER = 'the time limit of the episode is reached'
    RESET_OVER = 'the time to reset is over'
    BREAK_OVER = 'the break is over'


_READY = (SessionState.IDLE, SessionState.ARMED, SessionState.RESET)


class Session:
    """States and counts of one session; knows nothing of bags or streams. Times in ns.

    idle → armed → recording → reset → armed …, with a break after each block; stop ends it from
    any state. An attempt's number is never used twice; a cancelled one does not count.
    """

    def __init__(
        self, *, plan: Plan | None = None, kept: tuple[Kept, ...] = (), attempts: int = 0
    ) -> None:
        """Begin idle; ``kept`` and ``attempts`` continue a session that was interrupted."""
        self.plan = plan or Plan()
        self.kept = list(kept)
        self.attempts = attempts
        self.state = SessionState.IDLE
        self.since_ns = 0
        self.attempt: Attempt | None = None
        self._warned = False

    @property
    def done(self) -> int:
        """Return the number of episodes that count."""
        return len(self.kept)

    @property
    def block(self) -> int:
        """Return the block that the next episode belongs to, from 0."""
        size = self.plan.episodes_per_block
        return self.done // size if size else 0

    @property
    def complete(self) -> bool:
        """Tell whether the plan is fulfilled."""
        return 0 < self.plan.target <= self.done

    @property
    def limit_ns(self) -> int:
        """Return the time limit of the present state, 0 without one."""
        return {
            SessionState.RECORDING: self.plan.episode_limit_ns,
            SessionState.RESET: self.plan.reset_limit_ns,
            SessionState.BREAK: self.plan.break_ns,
        }.get(self.state, 0)

    def next_proposal(self) -> Proposal | None:
        """Return the first proposal not done yet; None while targets are unmet or all are done."""
        have = Counter(episode.location for episode in self.kept)
        if any(have[place] < want for place, want in self.plan.targets.items()):
            return None
        done = {episode.proposed for episode in self.kept}
        return next((place for place in self.plan.proposals if place.xy not in done), None)

    def next_location(self) -> str:
        """Return the location furthest from its target, each in turn where none has a target.

        Empty for a proposal that is close to no location, and for a plan without locations.
        """
        if proposal := self.next_proposal():
            return proposal.location
        have = Counter(episode.location for episode in self.kept)
        wanted = {place: want for place, want in self.plan.targets.items() if want > 0}
        wanted = wanted or dict.fromkeys(self.plan.targets, 1)
        return min(wanted, key=lambda place: have[place] / wanted[place], default='')

    def arm(self, now_ns: int) -> None:
        """Make ready: every stream has passed the gate."""
        self._need('arm', *_READY)
        self._enter(SessionState.ARMED, now_ns)

    def disarm(self, now_ns: int) -> None:
        """Go back to idle: a stream no longer passes the gate."""
        self._need('disarm', SessionState.ARMED)
        self._enter(SessionState.IDLE, now_ns)

    def start(self, now_ns: int, location: str = '', *, proposed: bool = True) -> Attempt:
        """Begin an episode at a location, empty for the plan's next.

        Not ``proposed``: it is of another task than the plan, and does no proposal.
        """
        self._need('start', SessionState.ARMED)
        proposal = self.next_proposal() if proposed and not location else None
        location = location or self.next_location()
        self.attempt = Attempt(self.attempts, self.block, location, proposal)
        self.attempts += 1
        self._enter(SessionState.RECORDING, now_ns)
        return self.attempt

    def end(self, now_ns: int, grade: Grade | None) -> Kept:
        """End the episode so that it counts; None for one that nobody graded."""
        self._need('end', SessionState.RECORDING)
        assert self.attempt is not None
        attempt, proposal = self.attempt, self.attempt.proposal
        kept = Kept(
            attempt.index,
            attempt.location,
            grade.value if grade else '',
            proposal.xy if proposal else None,
        )
        self.kept.append(kept)
        self._after_episode(now_ns)
        return kept

    def cancel(self, now_ns: int) -> Attempt:
        """End the episode so that nothing of it counts; the next one is at the same place."""
        self._need('cancel', SessionState.RECORDING)
        assert self.attempt is not None
        attempt, self.attempt = self.attempt, None
        self._enter(SessionState.RESET, now_ns)
        return attempt

    def next(self, now_ns: int) -> None:
        """Leave a reset or break before its time."""
        self._need('next', SessionState.IDLE, SessionState.RESET, SessionState.BREAK)
        self._enter(SessionState.IDLE, now_ns)

    def stop(self, now_ns: int) -> None:
        """End the session; the episode in hand must have been ended or cancelled."""
        self._need(
            'stop', *(state for state in SessionState if state is not SessionState.RECORDING)
        )
        self._enter(SessionState.STOPPED, now_ns)

    def tick(self, now_ns: int) -> Due | None:
        """Return what has become due, once; a break that is over becomes a reset."""
        limit = self.limit_ns
        if not limit or now_ns - self.since_ns < limit or self._warned:
            return None
        self._warned = True
        if self.state is SessionState.BREAK:
            self._enter(SessionState.RESET, now_ns)
            return Due.BREAK_OVER
        return Due.EPISODE_OVER if self.state is SessionState.RECORDING else Due.RESET_OVER

    def _after_episode(self, now_ns: int) -> None:
        self.attempt = None
        size = self.plan.episodes_per_block
        at_break = size and self.done % size == 0 and not self.complete and self.plan.break_ns
        self._enter(SessionState.BREAK if at_break else SessionState.RESET, now_ns)

    def _enter(self, state: SessionState, now_ns: int) -> None:
        self.state = state
        self.since_ns = now_ns
        self._warned = False

    def _need(self, command: str, *states: SessionState) -> None:
        if self.state not in states:
            names = ', '.join(state.name.lower() for state in states)
            raise SessionError(
                f'{command}: expected the session to be {names}, '
                f'found it {self.state.name.lower()}'
            )

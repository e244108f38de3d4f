# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A session counts what it should, asks for the place that is furthest behind, and resumes."""

from __future__ import annotations

from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, RuleBasedStateMachine
import pytest

from recorder.exceptions import SessionError
from recorder.facts import check_session_id, episode_name
from recorder.session import Due, Plan, Session
from teleop_bridge.vocabulary import Grade, SessionState

SECOND = 1_000_000_000
PLAN = Plan(
    episodes_per_block=2,
    blocks=2,
    episode_limit_ns=30 * SECOND,
    reset_limit_ns=20 * SECOND,
    break_ns=60 * SECOND,
    targets={'left': 2, 'right': 2},
)


def record(session: Session, now_ns: int = 0, grade: Grade = Grade.PARTIAL) -> None:
    session.arm(now_ns)
    session.start(now_ns)
    session.end(now_ns, grade)


def test_blocks_breaks_and_the_end_of_the_plan() -> None:
    session = Session(plan=PLAN)
    record(session)
    assert session.state is SessionState.RESET
    record(session)
    assert session.state is SessionState.BREAK and session.block == 1
    with pytest.raises(SessionError, match='start: expected the session to be armed, found it b'):
        session.start(0)
    session.next(0)
    record(session)
    record(session)
    assert session.complete and session.state is SessionState.RESET
    session.stop(0)
    with pytest.raises(SessionError, match='arm: expected .* found it stopped'):
        session.arm(0)


def test_cancelled_attempt_counts_for_nothing_and_its_place_is_asked_again() -> None:
    session = Session(plan=PLAN)
    session.arm(0)
    first = session.start(0)
    session.cancel(1)
    assert session.done == 0 and session.state is SessionState.RESET
    session.arm(2)
    second = session.start(2)
    assert second.location == first.location == 'left'
    assert (first.index, second.index) == (0, 1)


def test_places_are_asked_by_what_is_missing() -> None:
    session = Session(plan=Plan(targets={'a': 1, 'b': 3, 'never': 0}))
    asked = []
    for _ in range(4):
        session.arm(0)
        asked.append(session.start(0).location)
        session.end(0, Grade.FAILURE)
    assert asked == ['a', 'b', 'b', 'b']


def test_resumed_session_continues_counts() -> None:
    session = Session(plan=PLAN)
    for _ in range(3):
        record(session)
        if session.state is SessionState.BREAK:
            session.next(0)
    resumed = Session(plan=PLAN, kept=tuple(session.kept), attempts=session.attempts)
    assert (resumed.done, resumed.block) == (3, 1)
    resumed.arm(0)
    assert resumed.start(0).index == 3


def test_time_limits_fall_due_once() -> None:
    session = Session(plan=PLAN)
    session.arm(0)
    session.start(0)
    assert session.tick(30 * SECOND - 1) is None
    assert session.tick(30 * SECOND) is Due.EPISODE_OVER
    assert session.tick(31 * SECOND) is None
    session.end(31 * SECOND, None)
    assert session.kept[0].grade == ''
    assert session.tick(51 * SECOND) is Due.RESET_OVER
    assert session.state is SessionState.RESET
    record(session, 60 * SECOND)
    assert session.tick(119 * SECOND) is None
    assert session.tick(120 * SECOND) is Due.BREAK_OVER
    assert session.state is SessionState.RESET


class AnySession(RuleBasedStateMachine):
    """Whatever commands come in whatever order, counts stay true."""

    def __init__(self) -> None:
        super().__init__()
        self.session = Session(plan=PLAN)
        self.now = 0
        self.kept: list[int] = []
        self.attempts = 0

    @rule(
        command=st.sampled_from(['arm', 'start', 'end', 'cancel', 'next', 'disarm', 'tick']),
        seconds=st.integers(0, 70),
    )
    def do(self, command: str, seconds: int) -> None:
        self.now += seconds * SECOND
        session = self.session
        before = (session.state, session.done)
        try:
            if command == 'start':
                assert session.start(self.now).index == self.attempts
                self.attempts += 1
            elif command == 'end':
                self.kept.append(session.end(self.now, Grade.FAILURE).index)
            else:
                getattr(session, command)(self.now)
        except SessionError:
            assert (session.state, session.done) == before

    @precondition(lambda self: self.session.state is not SessionState.RECORDING)
    @rule()
    def resume(self) -> None:
        self.session = Session(
            plan=PLAN, kept=tuple(self.session.kept), attempts=self.session.attempts
        )

    @invariant()
    def counts(self) -> None:
        assert [episode.index for episode in self.session.kept] == self.kept
        assert (self.session.attempt is not None) == (self.session.state is SessionState.RECORDING)


TestAnySession = AnySession.TestCase


def test_targets_are_met_exactly() -> None:
    plan = Plan(targets={'a': 3, 'b': 2, 'c': 4})
    session = Session(plan=plan)
    for _ in range(9):
        record(session)
    counts = {place: sum(k.location == place for k in session.kept) for place in plan.targets}
    assert counts == plan.targets


@pytest.mark.parametrize('operator', ['../../etc', 'a/b', '<b>\N{PILE OF POO}', '"' * 300])
def test_a_bag_stays_in_its_session_s_folder_whatever_its_operator_is_called(
    operator: str,
) -> None:
    name = episode_name('s1', operator, 7)
    assert Path(name).name == name and len(name) < 100
    assert name.startswith('s1_') and name.endswith('_e0007')


@pytest.mark.parametrize('session_id', ['', '../x', 'a b', 'x' * 65])
def test_a_session_id_that_is_no_folder_s_name_is_refused(session_id: str) -> None:
    with pytest.raises(SessionError, match='session_id: expected at most 64 letters'):
        check_session_id(session_id)

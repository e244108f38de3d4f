# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Interventions: triggers that fire once, events that tell what happened, labels given late."""

from __future__ import annotations

import numpy as np
import pytest

from teleop_bridge.intervention import (
    InterventionError,
    InterventionLog,
    LeaderMotionTrigger,
    ThresholdTrigger,
)
from teleop_bridge.vocabulary import InterventionEvent, Trigger

S = 1_000_000_000
REASONS = ('wrong grasp', 'other')


def log() -> InterventionLog:
    return InterventionLog(reasons=REASONS, label_window_ns=60 * S)


def test_an_intervention_is_told_event_by_event_under_one_id() -> None:
    interventions = log()
    begin = interventions.begin(Trigger.BUTTON, 5 * S)
    converged = interventions.converged(6 * S)
    end = interventions.end(8 * S)
    back = interventions.converged(9 * S)
    label = interventions.label(
        intervention_id='', kind='goal', reason='wrong grasp', note='', now_ns=20 * S
    )
    assert converged is not None and back is not None
    events = [begin, converged, end, back, label]
    assert {event.id for event in events} == {begin.id}
    assert [event.event for event in events] == [
        InterventionEvent.BEGIN,
        InterventionEvent.CONVERGED,
        InterventionEvent.END,
        InterventionEvent.CONVERGED,
        InterventionEvent.LABEL,
    ]
    assert {event.trigger for event in events} == {Trigger.BUTTON}
    assert interventions.converged(10 * S) is None


def test_one_at_a_time() -> None:
    interventions = log()
    begin = interventions.begin(Trigger.SERVICE, 0)
    with pytest.raises(InterventionError, match=f'{begin.id} is under way already'):
        interventions.begin(Trigger.SERVICE, 1)
    interventions.end(2)
    with pytest.raises(InterventionError, match='no intervention is under way'):
        interventions.end(3)


@pytest.mark.parametrize(
    ('label', 'message'),
    [
        ({'kind': 'speed'}, "kind: expected one of safety, goal, quality, found 'speed'"),
        ({'reason': 'bad'}, "reason: expected one of wrong grasp, other, found 'bad'"),
        ({'reason': 'other'}, "reason 'other' needs a note"),
        ({'intervention_id': 'i9'}, "no intervention 'i9'"),
        ({'now_ns': 70 * S}, 'ended more than 60 s ago'),
    ],
)
def test_a_label_that_does_not_fit_is_refused(label: dict[str, object], message: str) -> None:
    interventions = log()
    interventions.begin(Trigger.SERVICE, 0)
    interventions.end(1 * S)
    given = {
        'intervention_id': '', 'kind': 'goal', 'reason': 'wrong grasp', 'note': '',
        'now_ns': 2 * S,
    }
    with pytest.raises(InterventionError, match=message):
        interventions.label(**(given | label))


def test_a_threshold_fires_once_until_it_has_fallen() -> None:
    trigger = ThresholdTrigger(high=1.0, low=0.8)
    assert [trigger.update(v) for v in (0.5, 1.0, 1.2, 0.9, 1.1, 0.7, 1.0)] == [
        False,
        True,
        False,
        False,
        False,
        False,
        True,
    ]


def motion(path: list[float]) -> list[bool]:
    trigger = LeaderMotionTrigger(speed=0.5, distance=0.1)
    return [trigger.update(np.array([0.0, x]), i * S // 100) for i, x in enumerate(path)]


def test_a_leader_moved_on_purpose_takes_over_once() -> None:
    fired = motion([0.0] * 50 + [0.01 * i for i in range(60)])
    assert sum(fired) == 1
    assert fired.index(True) == 50 + 11  # at 1 rad/s, just beyond 0.1 rad


def test_tremor_a_knock_and_a_slow_sag_do_not() -> None:
    tremor = [0.01 * np.sin(2 * np.pi * 9 * i / 100) for i in range(300)]
    knock = [0.0] * 50 + [0.05, 0.0] + [0.0] * 50
    sag = [0.001 * i for i in range(500)]
    assert not any(motion(tremor) + motion(knock) + motion(sag))


def test_it_is_ready_again_after_a_rest() -> None:
    move = [0.02 * i for i in range(20)]
    rest = [move[-1]] * 60
    back = move[::-1]
    assert sum(motion(move + rest + back)) == 2


def test_what_nobody_named_stays_visible() -> None:
    interventions = log()
    ids = []
    for i in range(3):
        ids.append(interventions.begin(Trigger.BUTTON, i * S).id)
        interventions.end(i * S + S // 2)
    interventions.label(
        intervention_id=ids[1], kind='goal', reason='wrong grasp', note='', now_ns=4 * S
    )
    assert interventions.unnamed == (ids[0], ids[2])

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Rules of a file keep, review or drop with their reasons, and never empty a task silently."""

from __future__ import annotations

import math

import pytest

from curation.exceptions import RulesError
from curation.scores.rules import guard, load_rules, parse_rules, Verdict
from teleop_bridge.exceptions import RigError

RULES = parse_rules(
    """
rules:
  slow: {then: review, when: {duration_ratio: {above: 2}, peers: {above: 3}},
         why: "took {duration_ratio:.1f} times the median"}
  failed: {then: drop, when: {grade: {in: [failure]}, task: {in: [a, b]}}, why: it failed}
  fine: {then: keep, when: {grade: {in: [best]}}, why: a good one}
"""
)


def test_all_conditions_must_hold_and_drop_weighs_more() -> None:
    slow = {'duration_ratio': 2.5, 'peers': 9, 'grade': 'failure', 'task': 'a'}
    assert RULES.decide(slow) == (Verdict.DROP, ('it failed', 'took 2.5 times the median'))
    assert RULES.decide({**slow, 'task': 'c'}) == (
        Verdict.REVIEW, ('took 2.5 times the median',)
    )
    assert RULES.decide({**slow, 'task': 'c', 'peers': 3})[0] is Verdict.KEEP
    assert RULES.decide({'grade': 'best'}) == (Verdict.KEEP, ('a good one',))


@pytest.mark.parametrize('unknown', [None, math.nan])
def test_what_is_unknown_never_holds(unknown: float | None) -> None:
    assert RULES.decide({'duration_ratio': unknown, 'peers': 9})[0] is Verdict.KEEP
    assert RULES.decide({})[0] is Verdict.KEEP


def test_the_installed_rules_can_be_read() -> None:
    assert {rule.name for rule in load_rules().rules} >= {'failure', 'slow', 'rough'}


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        ('rules: {}', 'expected at least one entry'),
        ('rules: {a: {then: burn, when: {peers: {above: 1}}, why: x}}', 'keep, review, drop'),
        ('rules: {a: {then: keep, when: {}, why: x}}', 'expected conditions, found none'),
        ('rules: {a: {then: keep, when: {pears: {above: 1}}, why: x}}', 'unknown key'),
        ('rules: {a: {then: keep, when: {peers: {over: 1}}, why: x}}', 'unknown key'),
        ('rules: {a: {then: keep, when: {peers: {above: 1}}, why: "{grade}"}}', 'its conditions'),
        ('rules: {a: {then: keep, when: {peers: {above: 1}}, why: "{peers.real}"}}', 'why'),
        ('rules: {a: {then: keep, when: {peers: {above: 1}}, why: "{peers"}}', 'why'),
    ],
)
def test_a_mistake_in_a_rules_file_is_named(text: str, problem: str) -> None:
    with pytest.raises(RigError, match=problem):
        parse_rules(text, 'my.yaml')


def test_a_filter_that_would_drop_a_whole_task_stops_and_says_so() -> None:
    guard(['a', 'a', 'b'], [True, False, True])
    with pytest.raises(RulesError, match=r"every episode of 'b' \(1 episodes\)"):
        guard(['a', 'a', 'b'], [True, False, False])
    guard(['a', 'a', 'b'], [True, False, False], allowed=['b'])
    with pytest.raises(RulesError, match='all 3 episodes'):
        guard(['a', 'a', 'b'], [False] * 3, allowed=['a', 'b'])

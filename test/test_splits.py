# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Splits keep operators or sessions and near-copies together, and every task in every split."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st
import pytest

from curation.exceptions import ManifestError
from curation.manifests.file import Entry
from curation.manifests.split import split, Together

SHARES = {'train': 8.0, 'val': 1.0, 'test': 1.0}


def entry(
    number: int, *, operator: str, session: str, task: str = 't', cluster: str = ''
) -> Entry:
    key = f'{number:064x}'
    return Entry(key, 'train', 1.0, 'n', task, '', operator, session, 'r', '', 'x', cluster or key)


def collection(operators: int, days: int, each: int = 10, tasks: int = 1) -> list[Entry]:
    return [
        entry(
            1000 * operator + 100 * day + n, operator=f'o{operator}',
            session=f's{operator}_{day}', task=f't{n % tasks}',
        )
        for operator in range(operators)
        for day in range(days)
        for n in range(each)
    ]


@given(st.integers(3, 12), st.integers(1, 4), st.integers(1, 3), st.integers(0, 9))
def test_nothing_that_belongs_together_is_parted(
    operators: int, days: int, tasks: int, seed: int
) -> None:
    entries = collection(operators, days, tasks=tasks)
    dealt, together = split(entries, SHARES, seed=seed)
    assert together is Together.OPERATOR
    held = defaultdict(set)
    for e in entries:
        held[e.operator].add(dealt[e.id])
    assert all(len(splits) == 1 for splits in held.values())
    assert {(dealt[e.id], e.task) for e in entries} == {
        (name, f't{task}') for name in SHARES for task in range(tasks)
    }
    assert split(entries[::-1], SHARES, seed=seed)[0] == dealt


def test_shares_are_met_where_groups_are_small() -> None:
    dealt, _ = split(collection(40, 1), SHARES)
    counts = [list(dealt.values()).count(name) for name in SHARES]
    assert counts == [320, 40, 40]


def test_sessions_stay_together_where_operators_are_too_few() -> None:
    entries = collection(2, 5)
    dealt, together = split(entries, SHARES)
    assert together is Together.SESSION
    for session in {e.session for e in entries}:
        assert len({dealt[e.id] for e in entries if e.session == session}) == 1
    with pytest.raises(ManifestError, match='would hold nothing of task'):
        split(entries, SHARES, together=Together.OPERATOR)


def test_near_copies_join_the_sessions_that_hold_them() -> None:
    entries = collection(1, 6, each=3)
    first, last = entries[0], entries[-1]
    copy = entry(9999, operator='o0', session=last.session, task='t0', cluster=first.id)
    joined = [*entries[:-1], copy]
    dealt, _ = split(joined, {'train': 1, 'val': 1}, together=Together.SESSION)
    assert dealt[joined[-1].id] == dealt[first.id]
    assert len({dealt[e.id] for e in joined if e.session in (first.session, last.session)}) == 1


@pytest.mark.parametrize('shares', [{}, {'train': 0.0}, {'train': 1.0, 'val': -1.0}])
def test_shares_that_mean_nothing_are_refused(shares: dict[str, float]) -> None:
    with pytest.raises(ManifestError, match='expected shares above 0'):
        split(collection(3, 1), shares)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Splits that don't leak: what belongs together stays together, and no split lacks a task."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from enum import Enum

from blake3 import blake3

from curation.exceptions import ManifestError
from curation.manifests.file import Entry
from curation.scores.copies import clusters

TRAIN = 'train'  # the split of every episode until it is dealt into others
Shares = Mapping[str, float]


class Together(str, Enum):
    """What stays in one split, beside near-copies."""

    OPERATOR = 'operator'  # and so every session
    SESSION = 'session'
    BEST = 'best'          # operators where every split then has every task, else sessions


def split(
    entries: Sequence[Entry], shares: Shares, *, together: Together = Together.BEST, seed: int = 0
) -> tuple[dict[str, str], Together]:
    """Return each episode's split by id, and what stayed together: operators or sessions.

    Groups are dealt out largest first, each to the split that most lacks its tasks; ``seed``
    decides between equals. Raises ManifestError where a split would lack a task.
    """
    if not shares or any(share <= 0 for share in shares.values()):
        raise ManifestError(f'split: expected shares above 0, found {dict(shares)}')
    tries = [Together.OPERATOR, Together.SESSION] if together is Together.BEST else [together]
    problem = ''
    for attempt in tries:
        dealt = _deal(entries, shares, attempt, seed)
        problem = _missing_task(entries, dealt, shares)
        if not problem:
            return dealt, attempt
    raise ManifestError(
        f'{problem} if each {tries[-1].value} and its near-copies stay in one split; '
        'use fewer splits or collect more'
    )


def _deal(
    entries: Sequence[Entry], shares: Shares, together: Together, seed: int
) -> dict[str, str]:
    groups = _groups(entries, together)
    total = Counter(entry.task for entry in entries)
    whole = sum(shares.values())
    wanted = {
        name: {task: share / whole * count for task, count in total.items()}
        for name, share in shares.items()
    }

    def rank(group: list[Entry]) -> tuple[int, str]:
        first = min(entry.id for entry in group)
        return -len(group), blake3(f'{seed}:{first}'.encode()).hexdigest()

    dealt: dict[str, str] = {}
    for group in sorted(groups, key=rank):
        tasks = Counter(entry.task for entry in group)

        def lack(name: str, tasks: Counter[str] = tasks) -> float:
            return sum(
                count * wanted[name][task] / (total[task] * shares[name] / whole)
                for task, count in tasks.items()
            )

        best = max(shares, key=lack)
        for task, count in tasks.items():
            wanted[best][task] -= count
        dealt |= {entry.id: best for entry in group}
    return dealt


def _groups(entries: Sequence[Entry], together: Together) -> list[list[Entry]]:
    """Join episodes of one operator or session, and near-copies across them."""
    first: dict[tuple[str, str], int] = {}
    pairs = []
    for index, entry in enumerate(entries):
        owner = entry.operator if together is Together.OPERATOR else entry.session
        for key in (('owner', owner), ('cluster', entry.cluster)):
            pairs.append((first.setdefault(key, index), index, 0.0))
    groups: dict[int, list[Entry]] = defaultdict(list)
    for entry, cluster in zip(entries, clusters(len(entries), pairs), strict=True):
        groups[int(cluster)].append(entry)
    return list(groups.values())


def _missing_task(entries: Sequence[Entry], dealt: Mapping[str, str], shares: Shares) -> str:
    held = {(dealt[entry.id], entry.task) for entry in entries}
    for task in sorted({entry.task for entry in entries}):
        for name in shares:
            if (name, task) not in held:
                return f"split: '{name}' would hold nothing of task '{task}'"
    return ''

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Rules in a YAML file that say of an episode's facts: keep, review or drop, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
import math
from pathlib import Path
from string import Formatter
from typing import Any

from curation.exceptions import RulesError
from teleop_bridge.resources import data_file
from teleop_bridge.rig.section import parse_yaml, read_text, Section

Facts = Mapping[str, float | str | None]

TEXTS = ('task', 'grade', 'operator', 'location', 'source', 'session_kind')
NUMBERS = (
    'duration_s', 'duration_ratio', 'duration_percentile', 'smoothness', 'smoothness_percentile',
    'roughness', 'coverage_gain', 'grasps', 'idle_share', 'human_share', 'interventions',
    'unnamed_interventions', 'lost', 'peers', 'errors', 'warnings', 'copies',
)  # fmt: skip


class Verdict(str, Enum):
    """What to do with an episode."""

    KEEP = 'keep'
    REVIEW = 'review'
    DROP = 'drop'


@dataclass(frozen=True)
class Condition:
    """Holds where a number lies above and below the bounds, or a text is among some."""

    field: str
    above: float = -math.inf
    below: float = math.inf
    among: tuple[str, ...] | None = None

    def holds(self, facts: Facts) -> bool:
        """Tell whether it holds; what is unknown never does."""
        value = facts.get(self.field)
        if self.among is not None:
            return value in self.among
        return isinstance(value, (int, float)) and self.above < value < self.below


@dataclass(frozen=True)
class Rule:
    """All ``conditions`` together give ``then``; ``why`` may name fields in braces."""

    name: str
    then: Verdict
    conditions: tuple[Condition, ...]
    why: str


@dataclass(frozen=True)
class Rules:
    """The rules of one file; ``text`` is that file, whole, as it goes into manifests."""

    rules: tuple[Rule, ...]
    text: str

    def decide(self, facts: Facts) -> tuple[Verdict, tuple[str, ...]]:
        """Return the verdict on one episode and every reason for it."""
        held = [rule for rule in self.rules if all(c.holds(facts) for c in rule.conditions)]
        held.sort(key=lambda rule: rule.then is not Verdict.DROP)  # what drops is said first
        verdicts = [rule.then for rule in held if rule.then is not Verdict.KEEP]
        reasons = tuple(rule.why.format_map(facts) for rule in held)
        return (verdicts[0] if verdicts else Verdict.KEEP), reasons


def parse_rules(text: str, path: str = 'rules') -> Rules:
    """Read rules; RigError names file, key, what was expected and what was found."""
    top = parse_yaml(text, path)
    rules = tuple(_rule(name, section) for name, section in top.named('rules', required=True))
    top.done()
    return Rules(rules, text)


@lru_cache(maxsize=8)
def load_rules(path: Path | None = None) -> Rules:
    """Read a rules file, the one that is installed where none is given."""
    path = path or data_file('config/rules/default.yaml')
    return parse_rules(read_text(path), str(path))


def guard(tasks: Sequence[str], kept: Sequence[bool], allowed: Sequence[str] = ()) -> None:
    """Raise RulesError where a filter would leave nothing, or nothing of a task not ``allowed``.

    ``kept`` tells of each episode whether it stays, ``tasks`` its task.
    """
    before = Counter(tasks)
    after = Counter(task for task, keep in zip(tasks, kept, strict=True) if keep)
    if before and not after:
        raise RulesError(f'the filter would drop all {len(tasks)} episodes; nothing was changed')
    lost = [task for task in sorted(before) if not after[task] and task not in allowed]
    if lost:
        named = ', '.join(f"'{task}' ({before[task]} episodes)" for task in lost)
        raise RulesError(
            f'the filter would drop every episode of {named}; nothing was changed '
            '(--drop-task allows it)'
        )


def _rule(name: str, section: Section) -> Rule:
    when = section.section('when')
    if when is None:
        section.fail('when', 'expected conditions, found none')
    conditions = []
    for field in (*TEXTS, *NUMBERS):
        found = when.section(field)
        if found is not None:
            conditions.append(_condition(field, found))
    when.done()
    rule = Rule(
        name, section.choice('then', Verdict), tuple(conditions), section.text('why')
    )
    section.done()
    if not conditions:
        section.fail('when', 'expected conditions, found none')
    try:
        rule.why.format_map(dict.fromkeys(_fields(rule.why), 0.0))
    except (ValueError, KeyError) as error:
        section.fail('why', f'expected fields such as {{duration_s:.1f}}, found {error}')
    if unknown := set(_fields(rule.why)) - {condition.field for condition in conditions}:
        section.fail('why', f'expected fields of its conditions, found {", ".join(unknown)}')
    return rule


def _condition(field: str, section: Section) -> Condition:
    if field in TEXTS:
        condition = Condition(field, among=section.texts('in'))
    else:
        condition = Condition(
            field,
            above=section.number('above', -math.inf),
            below=section.number('below', math.inf),
        )
    section.done()
    return condition


def _fields(text: str) -> list[Any]:
    try:
        return [name for _, name, _, _ in Formatter().parse(text) if name is not None]
    except ValueError:
        return []

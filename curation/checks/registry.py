# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""All checks by name, each in a module of its own, with its thresholds' defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
import importlib
import pkgutil
from typing import TypeVar

from curation.checks.finding import Finding
from curation.checks.summary import Summary
from curation.checks.view import View

Limits = Mapping[str, float]
EpisodeCheck = Callable[[View, Limits], Iterable[Finding]]
CollectionCheck = Callable[[Sequence[Summary], Limits], Iterable[Finding]]
_Check = TypeVar('_Check', EpisodeCheck, CollectionCheck)


@dataclass(frozen=True)
class Registered:
    """One check: of one episode, or of all episodes of a task together."""

    name: str
    limits: dict[str, float]
    episode: EpisodeCheck | None = None
    collection: CollectionCheck | None = None

    def on_episode(self, view: View, limits: Limits) -> Iterator[Finding]:
        """Yield what the check finds in one episode."""
        if self.episode is not None:
            yield from (replace(f, check=self.name) for f in self.episode(view, limits))

    def on_collection(self, summaries: Sequence[Summary], limits: Limits) -> Iterator[Finding]:
        """Yield what the check finds in a collection."""
        if self.collection is not None:
            yield from (replace(f, check=self.name) for f in self.collection(summaries, limits))


_CHECKS: dict[str, Registered] = {}


def episode_check(name: str, **limits: float) -> Callable[[EpisodeCheck], EpisodeCheck]:
    """Register a check of one episode under a name, with its default thresholds."""

    def register(check: EpisodeCheck) -> EpisodeCheck:
        known = _CHECKS.get(name) or Registered(name, {})
        _CHECKS[name] = replace(known, limits={**known.limits, **limits}, episode=check)
        return check

    return register


def collection_check(name: str, **limits: float) -> Callable[[CollectionCheck], CollectionCheck]:
    """Register a check of a collection under a name, with its default thresholds."""

    def register(check: CollectionCheck) -> CollectionCheck:
        known = _CHECKS.get(name) or Registered(name, {})
        _CHECKS[name] = replace(known, limits={**known.limits, **limits}, collection=check)
        return check

    return register


def all_checks() -> dict[str, Registered]:
    """Return every check by name; importing their package's modules registers them."""
    import curation.checks.rules as rules

    for module in sorted(module.name for module in pkgutil.iter_modules(rules.__path__)):
        importlib.import_module(f'{rules.__name__}.{module}')
    return dict(sorted(_CHECKS.items()))

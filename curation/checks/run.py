# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Run every check over recordings, one at a time, then over the collection they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from curation.align.extract import extract
from curation.align.series import Recording
from curation.bag.reader import BagReader
from curation.checks.finding import Finding
from curation.checks.registry import all_checks, Registered
from curation.checks.rules.cameras import against_references
from curation.checks.summary import summarise, Summary
from curation.checks.view import View
from recorder.reference import ReferenceFrames
from teleop_bridge.rig.schema import Rig
from teleop_bridge.rig.section import parse_yaml, read_text

Thresholds = Mapping[str, Mapping[str, float]]


def load_thresholds(path: Path) -> dict[str, dict[str, float]]:
    """Read a checks file, ``checks: {gap: {periods: 3}}``; RigError names what is unknown."""
    top = parse_yaml(read_text(path), str(path))
    known = all_checks()
    found: dict[str, dict[str, float]] = {}
    for name, section in top.named('checks', required=True):
        if name not in known:
            top.fail(f'checks.{name}', f'no such check (known: {", ".join(known)})')
        found[name] = {
            key: section.number(key, default) for key, default in known[name].limits.items()
        }
        section.done()
    top.done()
    return found


@dataclass(frozen=True)
class Checked:
    """One recording: what is wrong with it, and what the others' checks need of it."""

    findings: tuple[Finding, ...]
    summary: Summary | None


def check_one(
    recording: Recording, thresholds: Thresholds | None = None, *, images: bool = True
) -> Checked:
    """Return what is wrong with a recording by itself."""
    view = View(recording, images=images)
    findings = [
        finding
        for check in all_checks().values()
        for finding in check.on_episode(view, _limits(check, thresholds))
    ]
    return Checked(tuple(findings), summarise(view))


def check_among(
    summaries: Sequence[Summary],
    thresholds: Thresholds | None = None,
    *,
    references: ReferenceFrames | None = None,
) -> Iterator[Finding]:
    """Yield what is wrong with recordings among each other.

    ``references`` are what cameras showed when each location was first used.
    """
    checks = all_checks()
    for check in checks.values():
        yield from check.on_collection(summaries, _limits(check, thresholds))
    if references is not None:
        moved = _limits(checks['camera_moved'], thresholds)
        yield from against_references(summaries, references, moved)


def check_recordings(
    recordings: Iterable[Recording],
    thresholds: Thresholds | None = None,
    *,
    images: bool = True,
    references: ReferenceFrames | None = None,
) -> Iterator[Finding]:
    """Yield what is wrong with each recording, then what is wrong with it among the others.

    One recording is in memory at a time.
    """
    summaries: list[Summary] = []
    for recording in recordings:
        checked = check_one(recording, thresholds, images=images)
        yield from checked.findings
        if checked.summary is not None:
            summaries.append(checked.summary)
    yield from check_among(summaries, thresholds, references=references)


def _limits(check: Registered, thresholds: Thresholds | None) -> dict[str, float]:
    return {**check.limits, **(thresholds or {}).get(check.name, {})}


def check(
    bag: BagReader, rig: Rig, thresholds: Thresholds | None = None, *, images: bool = True
) -> list[Finding]:
    """Return what is wrong with one bag read by a rig; FlywheelError where it can't be read."""
    return list(check_recordings([extract(bag, rig)], thresholds, images=images))

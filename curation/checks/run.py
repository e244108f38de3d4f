# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Run every check over recordings, one at a time, then over the collection they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from curation.align.extract import extract
from curation.align.series import Recording
from curation.bag.reader import BagReader
from curation.checks.finding import Finding
from curation.checks.registry import all_checks
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


def check_recordings(
    recordings: Iterable[Recording],
    thresholds: Thresholds | None = None,
    *,
    images: bool = True,
    references: ReferenceFrames | None = None,
) -> Iterator[Finding]:
    """Yield what is wrong with each recording, then what is wrong with it among the others.

    One recording is in memory at a time. ``references`` are what cameras showed when each
    location was first used.
    """
    checks = all_checks()
    limits = {
        name: {**check.limits, **(thresholds or {}).get(name, {})}
        for name, check in checks.items()
    }
    summaries: list[Summary] = []
    for recording in recordings:
        view = View(recording, images=images)
        for name, check in checks.items():
            yield from check.on_episode(view, limits[name])
        summary = summarise(view)
        if summary is not None:
            summaries.append(summary)
    for name, check in checks.items():
        yield from check.on_collection(summaries, limits[name])
    if references is not None:
        yield from against_references(summaries, references, limits['camera_moved'])


def check(
    bag: BagReader, rig: Rig, thresholds: Thresholds | None = None, *, images: bool = True
) -> list[Finding]:
    """Return what is wrong with one bag read by a rig; FlywheelError where it can't be read."""
    return list(check_recordings([extract(bag, rig)], thresholds, images=images))

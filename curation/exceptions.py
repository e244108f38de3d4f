# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of curation."""

from __future__ import annotations

from functools import partial
from typing import Any

from teleop_bridge.exceptions import FlywheelError


class CurationError(FlywheelError):
    """Anything that went wrong in curation."""


class DemoError(CurationError):
    """The demo's rig refused something or did not answer in time."""


class NotArmedError(DemoError):
    """The demo's recorder did not arm: streams are missing or too slow."""


class ChildError(DemoError):
    """A process that the demo started ended before its time."""


class BagError(CurationError):
    """A bag can't be read: absent, empty, of another format or broken beyond its readable part."""


class DecodeError(CurationError):
    """A message or image can't be decoded by its own schema or encoding."""


class StreamError(CurationError):
    """A stream that the rig declares is not in the bag, or not as declared."""


class AlignmentError(CurationError):
    """A stream has no message that is fresh enough.

    ``stream`` names it, ``time_ns`` is the grid time, ``gap_ns`` the age of the newest message.
    """

    def __init__(self, message: str, *, stream: str, time_ns: int, gap_ns: int) -> None:
        super().__init__(message)
        self.stream = stream
        self.time_ns = time_ns
        self.gap_ns = gap_ns

    def __reduce__(self) -> tuple[Any, ...]:  # else it could not come back from a process
        return partial(
            type(self), stream=self.stream, time_ns=self.time_ns, gap_ns=self.gap_ns), self.args


class ExportError(CurationError):
    """A dataset can't be written as asked, or what was written does not read back as it should."""


class CatalogError(CurationError):
    """A catalog can't be opened, or does not hold what was asked for."""


class RulesError(CurationError):
    """Rules would drop a whole task, or everything."""


class AnnotationError(CurationError):
    """An annotation says nothing that can be said of an episode, or can't be written."""


class ManifestError(CurationError):
    """A manifest or model registry is not as expected, or its episodes are not as frozen."""


class WorkerLostError(CurationError):
    """Processes that worked on an item ended before their time, each time it was tried."""


class RemoteError(CurationError):
    """A URL holds nothing, can't be reached, or would be overwritten."""


class ScenarioError(CurationError):
    """A scenario library, its results or an episode that it names is not as expected."""


class UsageError(CurationError):
    """Options of the program that contradict each other."""

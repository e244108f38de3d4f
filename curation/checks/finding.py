# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What a check says: where, how much against which threshold, and what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


class Severity(str, Enum):
    """How bad a finding is."""

    ERROR = 'error'  # training on it teaches something wrong
    WARNING = 'warning'  # look at it before training on it
    NOTE = 'note'  # worth knowing


@dataclass(frozen=True)
class Finding:
    """One finding; the span, ns, is the whole episode where it is not narrower."""

    check: str
    severity: Severity
    episode: str
    stream: str
    start_ns: int
    end_ns: int
    value: float
    threshold: float
    message: str
    advice: str

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return {**asdict(self), 'severity': self.severity.value}

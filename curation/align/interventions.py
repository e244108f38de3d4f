# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Put the stamped events of interventions together, one record per id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from curation.align.episode import Intervention
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.vocabulary import InterventionEvent


def collect(events: Iterable[tuple[int, Any]]) -> tuple[Intervention, ...]:
    """Return the interventions that (time in ns, decoded Intervention message) pairs tell of."""
    found: dict[str, Intervention] = {}
    for stamp, message in events:
        known = found.get(message.id) or Intervention(message.id, begin_ns=stamp)
        if message.event == InterventionEvent.BEGIN:
            window = message.pre_window
            known = replace(
                known,
                begin_ns=stamp,
                trigger=message.trigger,
                operator_id=message.operator_id,
                pre_window_ns=window.sec * NANOSECONDS + window.nanosec,
            )
        elif message.event == InterventionEvent.CONVERGED:
            known = replace(known, converged_ns=known.converged_ns or stamp)
        elif message.event == InterventionEvent.END:
            known = replace(known, end_ns=stamp)
        named = {key: getattr(message, key) for key in ('kind', 'reason', 'note')}
        found[message.id] = replace(known, **{key: text for key, text in named.items() if text})
    return tuple(sorted(found.values(), key=lambda intervention: intervention.begin_ns))

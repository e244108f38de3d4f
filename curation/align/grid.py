# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The common times that samples are built on: exact rational rates in integer nanoseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from curation.align.episode import Times
from curation.align.options import AlignOptions
from curation.align.series import Recording
from curation.exceptions import StreamError
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.schema import Rig, Role

_MOST_TIMES = 20_000_000  # a week at 30 Hz


@dataclass(frozen=True)
class Span:
    """When one required stream has data, ns, both inclusive."""

    stream: str
    start_ns: int
    end_ns: int


def default_rate(rig: Rig) -> Fraction:
    """Return the first camera's declared rate, Hz, else the state's; StreamError without both."""
    images = {camera.image for camera in rig.cameras}
    candidates = [stream for stream in rig.streams if stream.name in images]
    for stream in (*candidates, *rig.by_role(Role.STATE)):
        if stream.rate_hz:
            return Fraction(str(stream.rate_hz))
    raise StreamError(
        f"rig '{rig.name}': neither a camera nor the state declares rate_hz: give the grid's rate"
    )


def regular_grid(start_ns: int, end_ns: int, rate: Fraction) -> Times:
    """Return start + floor(k / rate) ns, k = 0, 1, …, up to the end inclusive: (m,) int64."""
    if rate <= 0:
        raise StreamError(f'expected a rate above 0 Hz, found {rate}')
    step, per = NANOSECONDS * rate.denominator, rate.numerator
    count = (end_ns - start_ns) * per // step + 1
    if count > _MOST_TIMES:
        days = (end_ns - start_ns) / NANOSECONDS / 86_400
        raise StreamError(
            f'expected an episode, found stamps that span {days:.0f} days: is one clock wrong?'
        )
    seconds, rest = np.divmod(np.arange(count, dtype=np.int64), per)  # no overflow at any rate
    return np.asarray(start_ns + seconds * step + rest * step // per, np.int64)


def span_of(recording: Recording, spans: Sequence[Span], options: AlignOptions) -> tuple[int, int]:
    """Return when all required streams have data, within the episode and what was asked for.

    Raises StreamError, naming two streams, where they don't overlap.
    """
    if not spans:
        raise StreamError(f'{recording.path}: no required stream that could be aligned')
    first = max(spans, key=lambda span: span.start_ns)
    last = min(spans, key=lambda span: span.end_ns)
    if last.end_ns < first.start_ns:
        raise StreamError(
            f"{recording.path}: stream '{last.stream}' ends "
            f"{(first.start_ns - last.end_ns) / 1e9:.3f} s before '{first.stream}' begins: are "
            'both on one clock?'
        )
    facts = recording.facts.episode
    start = max(first.start_ns, int(facts.get('start_ns') or 0), options.start_ns or 0)
    ends = (last.end_ns, int(facts.get('end_ns') or 0), options.end_ns or 0)
    end = min(time for time in ends if time)
    if end < start:
        raise StreamError(f'{recording.path}: no data in all streams between {start} and {end} ns')
    return start, end

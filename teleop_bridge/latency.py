# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Lag over the last seconds as percentiles."""

from __future__ import annotations

from collections import deque

import numpy as np


class Latency:
    """Keeps the last ``size`` delays, ns."""

    def __init__(self, size: int = 1000) -> None:
        self._delays_ns: deque[int] = deque(maxlen=size)

    def add(self, delay_ns: int) -> None:
        """Take one delay."""
        self._delays_ns.append(delay_ns)

    def percentile_ms(self, share: float) -> float:
        """Return the delay that ``share`` percent stay below, ms; NaN without any."""
        if not self._delays_ns:
            return float('nan')
        return float(np.percentile(self._delays_ns, share)) / 1e6

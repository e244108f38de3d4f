# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""How well clocks agree: the kernel's own word on this machine, an NTP-style probe for others."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
import ctypes
from dataclasses import dataclass
from pathlib import Path
import subprocess
from typing import Any

import numpy as np

_UNSYNCHRONISED = 0x0040  # STA_UNSYNC of adjtimex(2)
_NANO = 0x2000  # STA_NANO
_TRACKING_SECONDS = ('last_offset', 'rms_offset', 'root_delay', 'root_dispersion')
_TRACKING = (  # the columns of chronyc -c tracking, see chronyc(1)
    'reference', 'address', 'stratum', 'time', 'system_offset', 'last_offset', 'rms_offset',
    'frequency', 'residual', 'skew', 'root_delay', 'root_dispersion', 'interval', 'leap',
)  # fmt: skip
WINDOW = 64  # exchanges that an estimate looks back on
_FIT_LEAST = 8  # exchanges, and
_FIT_SPAN_NS = 5_000_000_000  # span, from which drift can be told


class _Timex(ctypes.Structure):
    """The head of struct timex (adjtimex(2)); the kernel fills more, for which there is room."""

    _fields_ = (
        ('modes', ctypes.c_uint),
        ('offset', ctypes.c_long),
        ('freq', ctypes.c_long),
        ('maxerror', ctypes.c_long),
        ('esterror', ctypes.c_long),
        ('status', ctypes.c_int),
        ('rest', ctypes.c_char * 256),
    )


def kernel_sync() -> Mapping[str, int | bool]:
    """Return whether this machine's clock is disciplined (chrony, ntpd, PTP), and its error, ns.

    Empty where the system does not tell.
    """
    timex = _Timex()
    try:
        if ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(timex)) < 0:
            return {}
    except (OSError, AttributeError):
        return {}
    unit = 1 if timex.status & _NANO else 1000
    return {
        'synchronised': not timex.status & _UNSYNCHRONISED,
        'offset_ns': timex.offset * unit,
        'estimated_error_ns': timex.esterror * 1000,
        'maximum_error_ns': timex.maxerror * 1000,
    }


def daemon_state(*, ptp: Path = Path('/sys/class/ptp')) -> dict[str, Any]:
    """Return what is known of who disciplines the clock: chrony's tracking, PTP hardware clocks.

    Empty where neither is present. It asks a program: once per session is enough.
    """
    state: dict[str, Any] = {}
    if clocks := sorted(path.read_text().strip() for path in ptp.glob('*/clock_name')):
        state['ptp_clocks'] = clocks
    try:
        done = subprocess.run(
            ['chronyc', '-n', '-c', 'tracking'], capture_output=True, text=True, timeout=2.0
        )
    except (OSError, subprocess.SubprocessError):
        return state
    fields = done.stdout.strip().split(',')
    if done.returncode == 0 and len(fields) == len(_TRACKING):
        told = dict(zip(_TRACKING, fields, strict=True))
        state['chrony'] = {
            'server': told['address'] or told['reference'],
            'stratum': int(told['stratum']),
            'leap': told['leap'],
            **{f'{key}_ns': round(float(told[key]) * 1e9) for key in _TRACKING_SECONDS},
        }
    return state


@dataclass(frozen=True)
class Exchange:
    """Four times of one question and answer, ns: sent and back on our clock, theirs between."""

    sent: int
    received: int  # on the other machine's clock
    answered: int  # on the other machine's clock
    back: int

    @property
    def delay_ns(self) -> int:
        """Return the time that the exchange spent on its way."""
        return (self.back - self.sent) - (self.answered - self.received)

    @property
    def offset_ns(self) -> int:
        """Return their clock minus ours, right within half the delay (RFC 5905, section 8)."""
        return ((self.received - self.sent) + (self.answered - self.back)) // 2


@dataclass(frozen=True)
class ClockEstimate:
    """Their clock minus ours, its uncertainty, and its drift, None while it can't be told."""

    offset_ns: int
    uncertainty_ns: int
    drift_ns_per_s: float | None
    exchanges: int


class ClockProbe:
    """Estimates another machine's clock from the exchanges that were delayed least."""

    def __init__(self) -> None:
        """Begin without exchanges."""
        self._exchanges: deque[Exchange] = deque(maxlen=WINDOW)

    def add(self, exchange: Exchange) -> None:
        """Take one exchange; one whose times contradict each other is left out."""
        if exchange.delay_ns >= 0:
            self._exchanges.append(exchange)

    def estimate(self) -> ClockEstimate | None:
        """Return the estimate as of the last exchange, None before the first."""
        if not self._exchanges:
            return None
        best = sorted(self._exchanges, key=lambda exchange: exchange.delay_ns)
        good = best[: max(len(best) // 2, 1)]
        drift = _drift(good)
        least = best[0]
        elapsed_s = (self._exchanges[-1].back - least.back) / 1e9
        carried = round((drift or 0.0) * elapsed_s)
        return ClockEstimate(
            least.offset_ns + carried, least.delay_ns // 2, drift, len(self._exchanges)
        )


def _drift(exchanges: list[Exchange]) -> float | None:
    times = np.array([exchange.back for exchange in exchanges], np.int64)
    if len(times) < _FIT_LEAST or np.ptp(times) < _FIT_SPAN_NS:
        return None
    offsets = np.array([exchange.offset_ns for exchange in exchanges], np.int64)
    seconds = (times - times[0]) / 1e9
    return float(np.polyfit(seconds, (offsets - offsets[0]).astype(float), 1)[0])

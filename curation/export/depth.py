# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Depth as 12-bit codes on a logarithmic scale, as LeRobot v3 stores it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MIN_M, MAX_M, SHIFT_M = 0.01, 10.0, 3.5
_TOP_CODE = 4095
_LOG_MIN, _LOG_MAX = np.log(MIN_M + SHIFT_M), np.log(MAX_M + SHIFT_M)


def to_metres(depth: NDArray[Any]) -> NDArray[np.float64]:
    """Return depth in m from uint16 in mm or float32 in m; what was not measured becomes 0."""
    metres = depth / 1000.0 if depth.dtype == np.uint16 else depth.astype(np.float64)
    return np.nan_to_num(metres, nan=0.0, posinf=MAX_M, neginf=0.0)


def encode_depth(metres: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return 12-bit codes: equal steps of log(depth + 3.5 m) from 0.01 m to 10 m."""
    held = np.clip(metres, MIN_M, MAX_M)
    share = (np.log(held + SHIFT_M) - _LOG_MIN) / (_LOG_MAX - _LOG_MIN)
    codes: NDArray[np.uint16] = np.rint(_TOP_CODE * share).astype(np.uint16)
    return codes


def decode_depth(codes: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Return depth in m from 12-bit codes."""
    share = codes / _TOP_CODE
    metres: NDArray[np.float64] = np.exp(_LOG_MIN + share * (_LOG_MAX - _LOG_MIN)) - SHIFT_M
    return metres

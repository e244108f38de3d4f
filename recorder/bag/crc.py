# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The checksum of MCAP chunks: zlib's CRC-32, by isal where it is, at a fraction of the cost."""

from __future__ import annotations

try:
    from isal.isal_zlib import crc32
except ImportError:  # ROS distributions package no isal
    from zlib import crc32

__all__ = ['crc32']

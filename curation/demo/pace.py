# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""A rig file for a machine that is too slow for the rig: the same, at lower rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def slowed_rig(rig: Path, *, share: float, folder: Path) -> Path:
    """Return the rig's file, or one written into ``folder`` with this share of every rate."""
    if share == 1.0:
        return rig
    document = yaml.safe_load(rig.read_text(encoding='utf-8'))
    slowed = folder / f'{rig.stem}_at_{share:.0%}.yaml'.replace('%', '_percent')
    slowed.write_text(
        yaml.safe_dump(_slowed(document, share), sort_keys=False), encoding='utf-8'
    )
    return slowed


def _slowed(value: Any, share: float) -> Any:
    if isinstance(value, dict):
        return {
            key: inner * share if key == 'rate_hz' else _slowed(inner, share)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_slowed(inner, share) for inner in value]
    return value

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Days as arguments, and which bags were begun since one."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
import re

from curation.bag.reader import open_bag
from teleop_bridge.clock import NANOSECONDS


def day(text: str) -> int:
    """Return when a day such as 2026-01-31 begins (UTC), or what 7d was days ago; ns."""
    ago = re.fullmatch(r'(\d{1,5})d', text)
    try:
        moment = (
            datetime.now(timezone.utc) - timedelta(days=int(ago[1]))
            if ago
            else datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
        )
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'expected as 2026-01-31 or 7d, found {text!r}'
        ) from None
    return round(moment.timestamp()) * NANOSECONDS


def begun_since(bags: Iterable[Path], since_ns: int) -> list[Path]:
    """Return the bags whose first message was logged at ``since_ns`` or later, in their order."""
    chosen = []
    for path in bags:
        with open_bag(path) as bag:
            if bag.start_ns is not None and bag.start_ns >= since_ns:
                chosen.append(path)
    return chosen

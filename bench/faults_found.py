# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Which planted faults the checks find: the tables of docs/checks.md, from test/support."""

from __future__ import annotations

from pathlib import Path
import sys

sys.path.append(str(Path(__file__).resolve().parent.parent / 'test'))

from support.fault_table import main

if __name__ == '__main__':
    main()

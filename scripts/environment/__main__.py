# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Set up what this source tree needs: system libraries, Python environment, ROS build."""

from __future__ import annotations

import os
from pathlib import Path
import sys

import distribution
import python_environment
from steps import held, SetupError
import system_packages
import workspace

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Make environment and build, each only where it is not there yet; print what was wrong."""
    try:
        ros = distribution.sourced(os.environ)
        environment = python_environment.Environment.of(ROOT, ros)
        colcon = ROOT / '.colcon'
        colcon.mkdir(exist_ok=True)
        with held(environment.folder.with_name(f'{environment.key}.lock')):
            if not environment.complete:
                system_packages.install(ros)
                environment.make()
        with held(colcon / 'lock'):
            workspace.build(ROOT, environment)
    except SetupError as error:
        print(f'[setup] {error}', file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('[setup] stopped; the next run starts over what was not finished', file=sys.stderr)
        return 130
    return 0


sys.exit(main())

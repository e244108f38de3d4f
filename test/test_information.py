# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The information of states on actions has its closed form; erratic people score lower."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
import pytest

from curation.scores.information import information, local_information
from support.episodes import make_episode


@pytest.mark.parametrize('correlation', [0.0, 0.5, 0.9])
def test_gaussians_have_their_known_information(correlation: float) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(4000, 1))
    y = correlation * x + math.sqrt(1 - correlation**2) * rng.normal(size=(4000, 1))
    exact = -0.5 * math.log(1 - correlation**2)
    assert local_information(x, y).mean() == pytest.approx(exact, abs=0.05)


def test_erratic_episodes_score_lower() -> None:
    episodes = [make_episode(seed=seed) for seed in range(8)]
    rng = np.random.default_rng(2)
    for index in (2, 5):
        episode = episodes[index]
        assert episode.action is not None
        noise = rng.normal(0, 0.5, episode.action.shape)
        episodes[index] = replace(episode, action=episode.action + noise)
    found = information(episodes)
    assert set(np.argsort(found)[:2]) == {2, 5}


def test_without_actions_there_is_nothing_to_tell() -> None:
    episodes = [replace(make_episode(seed=0), action=None), make_episode(seed=1)]
    found = information(episodes)
    assert math.isnan(found[0])
    assert math.isfinite(found[1])
    assert np.isnan(information(episodes[:1])).all()
    assert np.isnan(local_information(np.zeros((3, 1)), np.zeros((3, 1)))).all()

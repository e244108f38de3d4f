# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Weights follow the stated choices, come out the same again, and drive the sampler."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from curation.exceptions import ManifestError
from curation.manifests.weights import (
    episode_weights,
    normalised,
    options_from,
    sample_weights,
    sampler_weights,
    Weighed,
    WeightOptions,
)
from support.episodes import make_episode
from support.records import DAY_NS


def test_corrections_weigh_more_and_handover_and_what_led_to_it_nothing() -> None:
    episode = make_episode()  # takeover at 1 s, converged at 1.2 s, until 2 s
    (entry,) = episode.interventions
    episode = replace(episode, interventions=(replace(entry, pre_window_ns=500_000_000),))
    t = (episode.grid_ns - episode.grid_ns[0]) / 1e9
    weights = sample_weights(episode, WeightOptions())
    assert set(weights[(t >= 0.5) & (t < 1.2)]) == {0.0}
    assert set(weights[(t >= 1.2) & (t < 2.0)]) == {2.5}
    assert set(weights[(t < 0.5) | (t >= 2.0)]) == {0.0}  # the policy's own
    alone = replace(episode, interventions=())
    assert set(sample_weights(alone, WeightOptions())) == {1.0}  # nobody had to correct it
    open_choices = WeightOptions(
        intervention=3.0, autonomous=1.0, mask_handover=False, mask_before_s=0.0
    )
    weights = sample_weights(episode, open_choices)
    assert set(weights[(t >= 1.0) & (t < 2.0)]) == {3.0}
    assert set(weights[t < 1.0]) == {1.0}
    invalid = replace(episode, valid=t < 3.0)
    assert not sample_weights(invalid, WeightOptions())[t >= 3.0].any()


def test_more_than_four_warns_and_says_why() -> None:
    assert WeightOptions().warnings() == WeightOptions(intervention=4.0).warnings() == []
    (warning,) = WeightOptions(intervention=5.0).warnings()
    assert 'forgets what it did well' in warning


def test_recency_halves_with_each_half_life() -> None:
    episodes = [Weighed(day * DAY_NS, 'x') for day in (0, 10, 20)]
    weights = episode_weights(episodes, WeightOptions(half_life_days=10))
    assert weights / weights[-1] == pytest.approx([0.25, 0.5, 1.0])
    assert weights.mean() == pytest.approx(1)


def test_sources_get_their_shares_whatever_their_numbers() -> None:
    episodes = [Weighed(0, 'teleoperation')] * 9 + [Weighed(0, 'handheld')]
    options = WeightOptions(mixture={'teleoperation': 3, 'handheld': 1})
    weights = episode_weights(episodes, options)
    assert weights[:9].sum() / weights.sum() == pytest.approx(0.75)
    for mixture in ({'teleoperation': 1.0}, {**options.mixture, 'egocentric': 1.0}):
        with pytest.raises(ManifestError, match='mixture'):
            episode_weights(episodes, WeightOptions(mixture=mixture))


def test_quality_favours_smooth_and_quick_within_bounds() -> None:
    best, worst = Weighed(0, 'x', 100.0, 0.0), Weighed(0, 'x', 0.0, 100.0)
    ratio = [
        float(np.divide(*episode_weights([worst, best], WeightOptions(quality=q))))
        for q in (0.0, 0.5, 1.0)
    ]
    assert ratio == pytest.approx([1.0, 0.5, 0.25])
    assert episode_weights([Weighed(0, 'x')], WeightOptions(quality=1.0)) == pytest.approx([1.0])


@pytest.mark.parametrize(
    'choices', [{'intervention': 0}, {'quality': 1.5}, {'half_life_days': -1},
                {'mixture': {'x': 0.0}}]
)
def test_choices_that_mean_nothing_are_refused(choices: dict[str, float]) -> None:
    with pytest.raises(ManifestError, match='weights'):
        WeightOptions(**choices)


def test_choices_come_back_from_a_manifest() -> None:
    options = WeightOptions(mixture={'x': 1.0}, mask_before_s=0.4)
    assert options_from(options.document()) == options


def test_everything_masked_is_refused() -> None:
    with pytest.raises(ManifestError, match='not masked'):
        normalised([np.zeros(3)])


def test_the_pytorch_sampler_draws_by_them_and_the_same_again() -> None:
    pytest.importorskip('torch', reason='the sampler needs pip install torch')
    from curation.torch.dataset import WindowSampler

    episodes = [make_episode(seed=0), make_episode(seed=1)]
    own = {episodes[0].id: 1.0, episodes[1].id: 3.0}
    weights = sampler_weights(episodes, own, WeightOptions())
    assert weights[weights > 0].mean() == pytest.approx(1)
    sampler = WindowSampler(weights, seed=3)
    drawn: list[int] = []
    for epoch in range(40):
        sampler.set_epoch(epoch)
        drawn += sampler
    sampler.set_epoch(0)
    assert list(sampler) == drawn[: len(sampler)]
    counts = np.bincount(drawn, minlength=len(weights))
    assert not counts[weights == 0].any()
    assert counts[len(episodes[0]):].sum() / len(drawn) == pytest.approx(0.75, abs=0.02)
    with pytest.raises(ManifestError, match='expected one for'):
        sampler_weights(episodes, {}, WeightOptions())

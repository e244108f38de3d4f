# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The flywheel experiment's contrasts: what each arm collects and trains on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import json
from pathlib import Path

import numpy as np

from bench.flywheel_lab import align, asked_places, Lab
from curation.manifests.weights import WeightOptions
from curation.scores.score import score_all
from curation.scores.verdict import judge, Verdict
from curation.train.options import TrainOptions

Arms = dict[str, list[bool]]
OPTIONS = TrainOptions()


def selection(lab: Lab, seed: int) -> Arms:
    """Choose among twice the minutes: by chance from all, or by chance from what is kept."""
    bags = lab.collect('free_double', seed, 2 * lab.minutes)
    scores = score_all(align(bags, OPTIONS))
    kept = [
        bag
        for bag, score in zip(bags, scores, strict=True)
        if judge(score, scores).verdict is Verdict.KEEP
    ]
    rng = np.random.default_rng(seed)
    size = min(len(kept), len(bags) // 2)
    arms = {}
    for name, pool in (('everything', bags), ('kept', kept)):
        chosen = [pool[index] for index in sorted(rng.permutation(len(pool))[:size])]
        arms[name] = lab.success(lab.train(f'selection_{name}', seed, chosen, OPTIONS))
    return arms


def places(lab: Lab, seed: int) -> Arms:
    """Collect where operators like it, or where coverage asks for it."""
    asked = lab.collect('asked', seed, lab.minutes, places=asked_places(seed))
    return {
        'free': lab.success(_first(lab, seed)[1]),
        'asked': lab.success(lab.train('asked', seed, asked, OPTIONS)),
    }


def rollouts(lab: Lab, seed: int) -> Arms:
    """Spend the second half of the minutes on demonstrations, or on corrected rollouts."""
    first, checkpoint = _first(lab, seed)
    more = lab.collect('more', 1000 + seed, lab.minutes)
    corrected = lab.collect('corrected', 2000 + seed, lab.minutes, checkpoint=checkpoint)
    return {
        'first policy': lab.success(checkpoint),
        'more demonstrations': lab.success(lab.train('more', seed, first + more, OPTIONS)),
        'corrected rollouts': lab.success(
            lab.train('corrected', seed, first + corrected, OPTIONS)
        ),
    }


def takeover(lab: Lab, seed: int) -> Arms:
    """Blend the command when a person takes over, or switch it at once."""
    first, checkpoint = _first(lab, seed)
    arms = {}
    for name, hard in (('blended', False), ('hard switch', True)):
        kind = 'corrected_hard' if hard else 'corrected'
        bags = lab.collect(
            kind, 2000 + seed, lab.minutes, checkpoint=checkpoint, hard_switch=hard)
        arms[name] = lab.success(lab.train(kind, seed, first + bags, OPTIONS))
    return arms


def weights(lab: Lab, seed: int) -> Arms:
    """Weigh corrections as much as, more, or much more than the rest."""
    return _retrained(
        lab,
        seed,
        {
            f'weight {weight:g}': replace(OPTIONS, weights=WeightOptions(intervention=weight))
            for weight in (1.0, 2.5, 10.0)
        },
    )


def own(lab: Lab, seed: int) -> Arms:
    """Learn from what the policy did by itself before it was corrected, or don't."""
    heard = replace(OPTIONS, weights=WeightOptions(autonomous=1.0))
    return _retrained(lab, seed, {'with its own': heard, 'corrections only': OPTIONS})


def masks(lab: Lab, seed: int) -> Arms:
    """Leave the ramp and the window before takeovers in, or out."""
    every = WeightOptions(mask_handover=False, mask_before_s=0.0)
    unmasked = replace(OPTIONS, weights=every)
    return _retrained(lab, seed, {'unmasked': unmasked, 'masked': OPTIONS})


def _retrained(lab: Lab, seed: int, variants: dict[str, TrainOptions]) -> Arms:
    first, checkpoint = _first(lab, seed)
    corrected = lab.collect('corrected', 2000 + seed, lab.minutes, checkpoint=checkpoint)
    return {
        name: lab.success(
            lab.train(_file_name(name, options), seed, first + corrected, options)
        )
        for name, options in variants.items()
    }


def _file_name(name: str, options: TrainOptions) -> str:
    return 'corrected' if options == OPTIONS else f'corrected_{name}'.replace(' ', '_')


def _first(lab: Lab, seed: int) -> tuple[list[Path], Path]:
    """Return the demonstrations that operators chose freely, and the policy that they made."""
    bags = lab.collect('first', seed, lab.minutes)
    return bags, lab.train('first', seed, bags, OPTIONS)


CONTRASTS: dict[str, Callable[[Lab, int], Arms]] = {
    'selection': selection,
    'places': places,
    'rollouts': rollouts,
    'takeover': takeover,
    'weights': weights,
    'masks': masks,
    'own': own,
}


def run_one(lab: Lab, name: str, seed: int) -> tuple[str, int, Arms]:
    """Run one contrast with one seed, or read what it gave."""
    path = lab.work / f'result_{name}_{seed}.json'
    if not path.exists():
        path.write_text(json.dumps(CONTRASTS[name](lab, seed)))
    return name, seed, json.loads(path.read_text())


def run_seed(lab: Lab, names: list[str], seed: int) -> list[tuple[str, int, Arms]]:
    """Run contrasts with one seed, one after another: they share collections."""
    return [run_one(lab, name, seed) for name in names]

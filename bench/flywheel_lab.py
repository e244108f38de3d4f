# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""What the flywheel experiment does again and again: collect minutes, train, evaluate; resumable.

Everything is kept in one work folder and made once; a step that was interrupted is made anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import json
from pathlib import Path
import re
import shutil

import numpy as np

from curation.align.episode import Episode
from curation.align.load import load_episode
from curation.align.options import AlignOptions
from curation.scores.coverage import farthest_point_order
from curation.train.examples import examples_of
from curation.train.fit import fit
from curation.train.options import TrainOptions
from curation.train.write import description, episodes_hash, write_checkpoint
from recorder.headless import Driver
from recorder.headless_collection import Collection, record_shift, Shift
from recorder.headless_evaluation import Candidate, evaluate, held_out_starts
from teleop_bridge.resources import data_file
from teleop_bridge.sim.places import draw_place, Place

PLUGIN = 'teleop_bridge.policy.onnx:OnnxPolicy'
SKILLS = ('better', 'okay', 'worse')
_SHIFT = 12        # episodes between two breaks
_CANDIDATES = 400  # places that "collect this next" chooses from
_TASK = 'pick_place'


@dataclass(frozen=True)
class Lab:
    """Where the experiment works and how big it is."""

    work: Path
    minutes: float     # of operators' time in each arm
    starts: int        # held-out start states
    epochs: int

    def collect(
        self,
        name: str,
        seed: int,
        minutes: float,
        *,
        checkpoint: Path | None = None,
        places: tuple[Place, ...] = (),
        hard_switch: bool = False,
    ) -> list[Path]:
        """Record that many minutes of three operators in turn; with a checkpoint they correct it.

        Minutes are the operators': of demonstrations as of rollouts that they watch and correct.
        """
        folder = self.work / f'{name}_{seed}'
        done = folder / 'bags.json'
        if done.exists():
            return [Path(bag) for bag in json.loads(done.read_text())]
        shutil.rmtree(folder, ignore_errors=True)
        collection = self._collection(folder, checkpoint, hard_switch=hard_switch)
        bags: list[Path] = []
        spent_s, number = 0.0, 0
        while spent_s < 60 * minutes:
            count = _SHIFT if places else 0
            asked = tuple(places[(len(bags) + i) % len(places)] for i in range(count))
            shift = Shift(
                operator_id=f'op{number % len(SKILLS)}',
                skill=SKILLS[number % len(SKILLS)],
                episodes=_SHIFT,
                seed=100_003 * seed + number,
                day=number // len(SKILLS),
                driver=Driver.CORRECTED if checkpoint else Driver.HUMAN,
                places=asked,
            )
            for episode in record_shift(collection, shift):
                if spent_s < 60 * minutes:
                    bags.append(episode.bag)
                    spent_s += episode.seconds
            number += 1
        done.write_text(json.dumps([str(bag) for bag in bags]))
        return bags

    def train(self, name: str, seed: int, bags: Sequence[Path], options: TrainOptions) -> Path:
        """Train on bags once and return the checkpoint."""
        path = self.work / f'{name}_{seed}.onnx'
        if not path.exists():
            options = replace(options, seed=seed, epochs=self.epochs)
            episodes = align(bags, options)
            examples = examples_of(episodes, options)
            fitted = fit(examples, options)
            manifest = episodes_hash([episode.id for episode in episodes])
            write_checkpoint(fitted, description(fitted, examples, options, manifest), path)
        return path

    def success(self, checkpoint: Path) -> list[bool]:
        """Return whether a checkpoint solves each held-out start state."""
        done = checkpoint.with_suffix('.success.json')
        if not done.exists():
            candidate = Candidate(*_files(), _TASK, PLUGIN, str(checkpoint))
            results = evaluate(candidate, held_out_starts(self.starts))
            done.write_text(json.dumps([result.solved for result in results]))
        solved: list[bool] = json.loads(done.read_text())
        return solved

    def _collection(
        self, folder: Path, checkpoint: Path | None, *, hard_switch: bool
    ) -> Collection:
        rig, tasks = _files()
        if hard_switch:  # takes over within one step of 10 ms
            text, changed = re.subn(r'ramp_ms: \d+', 'ramp_ms: 1', rig.read_text())
            assert changed == 1, rig
            rig = self.work / 'hard_switch.yaml'
            rig.write_text(text)
        return Collection(
            rig=rig,
            tasks=tasks,
            task=_TASK,
            output=folder,
            plugin=PLUGIN if checkpoint else '',
            checkpoint=str(checkpoint or ''),
        )


def align(bags: Sequence[Path], options: TrainOptions) -> list[Episode]:
    """Align bags as training does."""
    return [load_episode(bag, options=AlignOptions(rate=options.rate)) for bag in bags]


def asked_places(seed: int) -> tuple[Place, ...]:
    """Return places in the order in which coverage asks for them: farthest point first."""
    rng = np.random.default_rng(seed)
    candidates = [draw_place(rng) for _ in range(_CANDIDATES)]
    points = np.array([place.xy for place in candidates])
    order, _ = farthest_point_order(points, len(points))
    return tuple(candidates[index] for index in order)


def _files() -> tuple[Path, Path]:
    return data_file('config/rigs/so101_sim.yaml'), data_file('config/tasks/pick_place.yaml')

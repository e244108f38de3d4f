# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Train a small policy with the real lerobot and run it as our policy node would.

For scripts/check_lerobot; its answers are compared with those of lerobot's own inference.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import subprocess
import sys
import tempfile

from lerobot.configs import PreTrainedConfig
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from lerobot.policies.factory import get_policy_class, make_pre_post_processors
import numpy as np
import torch

from curation.align.load import rig_of
from curation.bag.find import find_bags
from curation.bag.reader import open_bag
from teleop_bridge.joints import JointSample
from teleop_bridge.policy.base import load_policy, Observation

ACT = {
    'policy.type': 'act', 'policy.device': 'cpu', 'policy.push_to_hub': 'false',
    'policy.pretrained_backbone_weights': 'null', 'policy.dim_model': 64, 'policy.n_heads': 4,
    'policy.dim_feedforward': 128, 'policy.chunk_size': 16, 'policy.n_action_steps': 8,
    'steps': 2, 'save_freq': 2, 'batch_size': 2, 'num_workers': 0, 'wandb.enable': 'false',
}  # fmt: skip
FRAMES = 5
LEAST = 1e-4  # rad: the same network, asked in another way


def inputs_of(dataset: LeRobotDataset) -> dict[str, dict[str, object]]:
    """Choose the joints and one colour camera; nothing where there is none."""
    for key in dataset.meta.camera_keys:
        height, width, channels = dataset.meta.features[key]['shape']
        if channels == 3:
            state = list(dataset.meta.features['observation.state']['shape'])
            return {
                'observation.state': {'type': 'STATE', 'shape': state},
                key: {'type': 'VISUAL', 'shape': [3, height, width]},
            }
    return {}


def train(dataset: LeRobotDataset, root: Path, out: Path) -> Path:
    """Train as docs/training.md says, for two steps."""
    program = Path(sys.executable).with_name('lerobot-train')
    subprocess.run(
        [
            program, '--dataset.repo_id=local/checked', f'--dataset.root={root}',
            '--dataset.video_backend=pyav', f'--output_dir={out}',
            *(f'--{name}={value}' for name, value in ACT.items()),
            f'--policy.input_features={json.dumps(inputs_of(dataset))}',
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return out / 'checkpoints' / 'last' / 'pretrained_model'


def main() -> int:
    """Train, ask both at a few frames, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('dataset', type=Path)
    parser.add_argument('bags', type=Path)
    arguments = parser.parse_args()
    dataset = LeRobotDataset('local/checked', root=arguments.dataset, video_backend='pyav')
    if not inputs_of(dataset):
        print('no colour camera in it, without which ACT is not to be trained: not tried')
        return 0
    with open_bag(find_bags([arguments.bags])[0]) as bag:
        rig = rig_of(bag)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = train(dataset, arguments.dataset, Path(folder) / 'act')
        ours = load_policy(
            'teleop_bridge.policy.lerobot:LeRobotPolicy', rig, f'{checkpoint}@{dataset.fps}'
        )
        config = PreTrainedConfig.from_pretrained(checkpoint)
        theirs = get_policy_class(config.type).from_pretrained(checkpoint, config=config).eval()
        before, after = make_pre_post_processors(config, pretrained_path=str(checkpoint))
        worst = 0.0
        for index in np.linspace(0, len(dataset) - 1, FRAMES).astype(int):
            item = dataset[int(index)]
            theirs.reset()
            with torch.inference_mode():
                action = after(theirs.select_action(before(dict(item)))).numpy()[0]
            state = JointSample(rig.joint_names, item['observation.state'].numpy(), 0)
            images = {
                key.removeprefix('observation.images.'):
                    (item[key].numpy().transpose(1, 2, 0) * 255).round().astype(np.uint8)
                for key in config.image_features
            }  # fmt: skip
            chunk = ours.propose(Observation(0, state, images))
            worst = max(worst, float(np.abs(chunk.positions[0] - action).max()))
    if worst > LEAST:
        print(f'make check-lerobot: a trained policy answers {worst:g} rad apart from lerobot',
              file=sys.stderr)
        return 1
    print(f'ACT, trained by lerobot-train on {", ".join(config.input_features)}: the policy node '
          f'answers as lerobot does at {FRAMES} frames (within {worst:.1g} rad)')
    return 0


if __name__ == '__main__':
    sys.exit(main())

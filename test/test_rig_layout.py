# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The views of any rig show its joints, cameras and arms, and nothing that it lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from curation.cli.main import main
from teleop_bridge.rig.layout import foxglove_layout, rviz_config
from teleop_bridge.rig.loader import load_rig

RIGS = sorted((Path(__file__).parents[1] / 'config' / 'rigs').glob('*.yaml'))


def panels(node: Any) -> list[str]:
    """Return the panels of a layout's tree, in order."""
    if isinstance(node, str):
        return [node]
    return panels(node['first']) + panels(node['second'])


@pytest.mark.parametrize('path', RIGS, ids=lambda path: path.stem)
def test_a_layout_shows_each_of_its_panels_once_and_every_joint_and_camera(path: Path) -> None:
    rig = load_rig(path)
    layout = json.loads(foxglove_layout(rig))
    shown = panels(layout['layout'])
    assert sorted(shown) == sorted(layout['configById'])
    assert [f'Plot!{name}' for name in rig.joint_names if f'Plot!{name}' not in shown] == []
    assert [c.name for c in rig.cameras if f'Image!{c.name}' not in shown] == []
    assert ('/sim/' in json.dumps(layout['configById'])) == (rig.name == 'so101_sim')


def test_two_arms_are_plotted_from_their_own_topics_and_drawn_by_their_own_frames() -> None:
    rig = load_rig(next(path for path in RIGS if path.stem == 'bimanual_sim'))
    plots = json.loads(foxglove_layout(rig))['configById']
    values = [path['value'] for path in plots['Plot!right_elbow_flex']['paths']]
    assert values == [
        '/leader/command.position[8]',
        '/policy/command.position[8]',
        '/follower/command.position[8]',
        '/right/joint_states.position[2]',
    ]
    manager = yaml.safe_load(rviz_config(rig))['Visualization Manager']
    robots = [d for d in manager['Displays'] if d['Class'].endswith('/RobotModel')]
    assert [(r['TF Prefix'], r['Description Topic']['Value']) for r in robots] == [
        ('left', 'left/robot_description'),
        ('right', 'right/robot_description'),
    ]
    assert manager['Global Options']['Fixed Frame'] == 'left/base_link'


def test_the_simulated_rig_s_rviz_view_is_the_one_that_we_ship() -> None:
    path = next(path for path in RIGS if path.stem == 'so101_sim')
    shipped = yaml.safe_load((path.parents[1] / 'rviz' / 'rig.rviz').read_text())
    made = yaml.safe_load(rviz_config(load_rig(path)))

    def shows(config: Any) -> set[tuple[str, str]]:
        displays = config['Visualization Manager']['Displays']
        return {(d['Class'], d.get('Topic', {}).get('Value', '')) for d in displays}

    assert shows(made) == shows(shipped)


def test_the_verb_writes_both_under_a_namespace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = next(path for path in RIGS if path.stem == 'so101_bench')
    assert main(['rig', 'layout', str(rig), '--out', str(tmp_path), '--namespace', 'cell_2']) == 0
    assert f'wrote {tmp_path}/so101_bench.rviz' in capsys.readouterr().out
    text = (tmp_path / 'so101_bench.foxglove.json').read_text()
    assert '/cell_2/camera/camera/color/image_raw' in text
    assert '/cell_2/recorder/start_trigger' in text and '"/diagnostics"' in text
    assert '/cell_2/camera/camera/color/image_raw' in (tmp_path / 'so101_bench.rviz').read_text()

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
from teleop_bridge.rig.loader import load_rig, parse_rig

BAND = 'StateTransitions!interventions'
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


STATES_AND_A_CAMERA = """
rig: plain
robot_type: ''
clock: ros
joints: {a: {}, b: {}}
streams:
  state: {topic: /arm/joint_states, type: sensor_msgs/msg/JointState, role: state, rate_hz: 50,
          max_age_ms: 70}
  front: {topic: /front/image_raw, type: sensor_msgs/msg/Image, role: camera, rate_hz: 30,
          max_age_ms: 120}
cameras: {front: {image: front}}
"""
AUTHORITY = """
  authority: {topic: /cell/authority, type: teleop_flywheel/msg/Authority, role: authority,
              rate_hz: 50, max_age_ms: 70}
"""
INTERVENTION = """
  corrections: {topic: corrections, type: teleop_flywheel/msg/Intervention, role: intervention,
                required: false}
"""
POLICY = """
  policy: {topic: policy, type: sensor_msgs/msg/JointState, role: policy_proposal, rate_hz: 50,
           max_age_ms: 70, required: false}
"""


@pytest.mark.parametrize(
    ('more', 'shown', 'read', 'buttons'),
    [
        ('', set(), set(), 4),
        (AUTHORITY, {'Plot!authority', BAND}, {'/cell/authority'}, 4),
        (INTERVENTION, {BAND}, {'/corrections'}, 4),
        (AUTHORITY + INTERVENTION + POLICY, {'Plot!authority', BAND},
         {'/cell/authority', '/corrections'}, 6),
    ],
    ids=['neither', 'authority', 'interventions', 'both'],
)  # fmt: skip
def test_authority_and_interventions_are_shown_where_the_rig_has_them_and_from_its_topics(
    more: str, shown: set[str], read: set[str], buttons: int
) -> None:
    text = STATES_AND_A_CAMERA.replace('streams:', f'streams:{more.rstrip()}')
    layout = json.loads(foxglove_layout(parse_rig(text, 'plain')))
    made, tree = layout['configById'], panels(layout['layout'])
    assert sorted(tree) == sorted(made)
    assert {'Plot!a', 'Plot!b', 'Image!front', '3D!arm', 'DiagnosticSummary!health'} <= set(tree)
    assert set(tree) & {'Plot!authority', BAND} == shown
    assert sum(name.startswith('CallService!') for name in tree) == buttons
    values = {path['value'] for name in shown for path in made[name]['paths']}
    assert {value.rpartition('.')[0] for value in values} - {'/recorder/status'} == read
    assert ('/intervention/marker' in made['3D!arm']['topics']) == ('corrections' in more)
    assert '"/authority' not in json.dumps(layout)


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


def test_a_namespace_is_put_before_relative_topics_alone(tmp_path: Path) -> None:
    path = next(path for path in RIGS if path.stem == 'so101_sim')
    rig = tmp_path / 'rig.yaml'
    rig.write_text(path.read_text().replace('topic: joint_states,', 'topic: /joint_states,'))
    layout = json.loads(foxglove_layout(load_rig(rig), namespace='cell_2'))['configById']
    values = [line['value'] for line in layout['Plot!shoulder_pan']['paths']]
    assert values[2:] == ['/cell_2/follower/command.position[0]', '/joint_states.position[0]']
    assert '/cell_2/intervention/marker' in layout['3D!arm']['topics']

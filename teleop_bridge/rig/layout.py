# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""RViz and Foxglove views of any rig, made from ours of the simulated one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
import copy
import json
from typing import Any

import yaml

from teleop_bridge.resources import data_file
from teleop_bridge.rig.bringup import driving
from teleop_bridge.rig.schema import Camera, Rig, Role, Stream

Json = dict[str, Any]
_COLOURS = {
    Role.HUMAN_PROPOSAL: ('human proposes', '#4e98e2'),
    Role.POLICY_PROPOSAL: ('policy proposes', '#a395e2'),
    Role.ACTION: ('sent to the follower', '#f5774d'),
    Role.STATE: ('measured', '#68e24a'),
}
_DESCRIPTION = 'robot_description'
_AUTHORITY, _BAND = 'Plot!authority', 'StateTransitions!interventions'
# what our view reads of the simulated rig, which other rigs may have elsewhere or not at all
_OF_ROLE = {'/authority': Role.AUTHORITY, '/intervention': Role.INTERVENTION}


def foxglove_layout(rig: Rig, *, namespace: str = '') -> str:
    """Return a Foxglove layout as JSON: cameras, a plot per joint, authority, buttons, health.

    Authority, interventions and their buttons are left out where the rig has none.
    A plot finds its joint by its place in the message: what we publish is in the rig's order, and
    the measured joints are taken to be, arm by arm where each arm has its own topic.
    """
    layout: Json = json.loads(data_file('config/foxglove/flywheel.json').read_text())
    panels: Json = layout['configById']
    plot = panels['Plot!shoulder_pan']
    image = panels['Image!front']
    kept = _shared(rig, panels)
    plots = {f'Plot!{name}': _plot(rig, plot, i) for i, name in enumerate(rig.joint_names)}
    images = {f'Image!{camera.name}': _image(rig, image, camera) for camera in rig.cameras}
    kept['3D!arm'] = _scene(rig, kept['3D!arm'])
    buttons = [name for name in kept if name.startswith('CallService!')]
    middle = [name for name in (_BAND, _AUTHORITY, 'RawMessages!score', 'DiagnosticSummary!health')
              if name in kept]  # fmt: skip
    panels = {**kept, **plots, **images}
    if namespace:
        fixed = {'/diagnostics', *(s.topic for s in rig.streams if s.topic.startswith('/'))}
        panels = _in_namespace(panels, namespace, fixed)
    layout['configById'] = panels
    left = [n for n in ('3D!arm', _split('row', list(images)), _split('row', buttons)) if n]
    layout['layout'] = _split(
        'row',
        [
            part
            for part in (
                _split('column', left),
                _split('column', middle),
                _split('column', list(plots)),
            )
            if part
        ],
    )
    return json.dumps(layout, indent=2) + '\n'


def rviz_config(rig: Rig, *, namespace: str = '') -> str:
    """Return an RViz configuration: each robot by its description, cameras, poses, wrenches.

    A description under a name (left/robot_description) has that name as its frames' prefix.
    """
    config: Json = yaml.safe_load(data_file('config/rviz/rig.rviz').read_text())
    displays = config['Visualization Manager']['Displays']
    by_class = {display['Class'].partition('/')[2]: display for display in displays}
    topics = _descriptions(rig)
    made = [by_class['Grid']]
    for topic in topics:
        prefix = topic.removesuffix(_DESCRIPTION).strip('/')
        robot = _display(by_class['RobotModel'], f'Arm {prefix}'.strip(), topic, namespace)
        robot['TF Prefix'] = prefix
        made.append(robot)
    made.append(by_class['TF'])
    for role, kind in ((Role.POSE, 'Pose'), (Role.WRENCH, 'Wrench'), (Role.CAMERA, 'Image')):
        for stream in rig.by_role(role):
            if stream.type.endswith(('/PoseStamped', '/WrenchStamped', '/Image')):
                made.append(_display(by_class[kind], stream.name, stream.topic, namespace))
    if rig.by_role(Role.INTERVENTION):
        marker = by_class['Marker']
        made.append(_display(marker, marker['Name'], marker['Topic']['Value'], namespace))
    config['Visualization Manager']['Displays'] = made
    fixed = _fixed_frame(topics, config['Visualization Manager']['Global Options']['Fixed Frame'])
    config['Visualization Manager']['Global Options']['Fixed Frame'] = fixed
    return yaml.safe_dump(config, sort_keys=False)


def _fixed_frame(topics: Sequence[str], frame: str) -> str:
    prefix = topics[0].removesuffix(_DESCRIPTION)
    return f'{prefix}{frame}'.lstrip('/')


def _display(template: Json, name: str, topic: str, namespace: str) -> Json:
    display: Json = copy.deepcopy(template)
    display['Name'] = name
    place = display['Topic'] if 'Topic' in display else display['Description Topic']
    place['Value'] = _absolute(topic, namespace) if namespace else topic
    return display


def _shared(rig: Rig, panels: Json) -> Json:
    """Return the panels that belong to no joint or camera, without those of what the rig lacks."""
    lacking = set()
    if not rig.by_role(Role.AUTHORITY):
        lacking.add(_AUTHORITY)
        if not rig.by_role(Role.INTERVENTION):
            lacking.add(_BAND)
    if all(process.executable != 'intervention' for process in driving(rig)):
        lacking |= {'CallService!takeover', 'CallService!handback'}
    own = {name: _of_own(rig, panels[name]) for name in (_AUTHORITY, _BAND)}
    shared = {n: panel for n, panel in panels.items() if not n.startswith(('Plot!', 'Image!'))}
    return {n: panel for n, panel in {**shared, **own}.items() if n not in lacking}


def _of_own(rig: Rig, template: Json) -> Json:
    """Return a panel that reads authority and interventions where this rig has them."""
    panel: Json = copy.deepcopy(template)
    panel['paths'] = []
    for path in template['paths']:
        topic, _, field = path['value'].partition('.')
        role = _OF_ROLE.get(topic)
        topics = [topic] if role is None else [stream.topic for stream in rig.by_role(role)]
        panel['paths'] += [{**path, 'value': f'/{t.lstrip("/")}.{field}'} for t in topics]
    return panel


def _plot(rig: Rig, template: Json, index: int) -> Json:
    panel: Json = copy.deepcopy(template)
    style = panel['paths'][0]
    panel['paths'] = []
    for role, (label, colour) in _COLOURS.items():
        found = _at(rig, rig.by_role(role), index)
        if found is not None:
            stream, place = found
            value = f'/{stream.topic.lstrip("/")}.position[{place}]'
            panel['paths'].append({**style, 'value': value, 'label': label, 'color': colour})
    name = rig.joint_names[index]
    panel['foxglovePanelTitle'] = f'{name}: human, policy, sent, measured'
    return panel


def _at(rig: Rig, streams: Sequence[Stream], index: int) -> tuple[Stream, int] | None:
    """Return which of the streams carries a joint, and where."""
    joints = len(rig.joint_names)
    if not streams or joints % len(streams):
        return None
    each = joints // len(streams)
    return streams[index // each], index % each


def _image(rig: Rig, template: Json, camera: Camera) -> Json:
    panel: Json = copy.deepcopy(template)
    panel['foxglovePanelTitle'] = f'{camera.name} camera'
    mode = {'imageTopic': f'/{rig.stream(camera.image).topic.lstrip("/")}'}
    if camera.info is not None:
        mode['calibrationTopic'] = f'/{rig.stream(camera.info).topic.lstrip("/")}'
    panel['imageMode'] = mode
    return panel


def _split(direction: str, parts: Sequence[Any]) -> Any:
    """Return panels side by side, each with the same share, as Foxglove nests them."""
    if len(parts) < 2:
        return parts[0] if parts else None
    return {
        'direction': direction,
        'first': parts[0],
        'second': _split(direction, parts[1:]),
        'splitPercentage': round(100 / len(parts), 1),
    }


def _absolute(topic: str, namespace: str) -> str:
    return topic if topic.startswith('/') else f'/{namespace.strip("/")}/{topic}'


def _scene(rig: Rig, template: Json) -> Json:
    """Return the 3D panel with an URDF layer per robot and the rig's poses."""
    panel: Json = copy.deepcopy(template)
    shown = panel['topics'].values()
    axes = next(style for style in shown if style.get('type') == 'axis')
    arm = panel['layers'].pop('arm')
    robots = _descriptions(rig)
    panel['topics'] = {}
    if rig.by_role(Role.INTERVENTION):
        panel['topics']['/intervention/marker'] = {'visible': True}
    for stream in rig.by_role(Role.POSE):
        panel['topics'][f'/{stream.topic.lstrip("/")}'] = axes
    for topic in robots:
        prefix = topic.removesuffix(_DESCRIPTION)
        name = f'arm {prefix.strip("/")}'.strip()
        layer = {**arm, 'instanceId': name, 'label': name, 'topic': f'/{topic.lstrip("/")}'}
        if prefix:
            layer['framePrefix'] = prefix.lstrip('/')
        panel['layers'][name] = layer
    panel['followTf'] = _fixed_frame(robots, panel['followTf'])
    return panel


def _descriptions(rig: Rig) -> list[str]:
    return [s.topic for s in rig.streams if s.topic.endswith(_DESCRIPTION)] or [_DESCRIPTION]


def _in_namespace(content: Any, namespace: str, fixed: Collection[str]) -> Any:
    """Put topics and services, texts that begin with a slash, under a namespace.

    Fixed ones, absolute in the rig file, stay. A text may go on after a topic with the field that
    is read of it.
    """
    if isinstance(content, dict):
        parts = {key: _in_namespace(value, namespace, fixed) for key, value in content.items()}
        return {_in_namespace(key, namespace, fixed): value for key, value in parts.items()}
    if isinstance(content, list):
        return [_in_namespace(value, namespace, fixed) for value in content]
    if not isinstance(content, str) or content.partition('.')[0] in fixed:
        return content
    return f'/{namespace.strip("/")}{content}' if content.startswith('/') else content

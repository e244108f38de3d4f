# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Leader joints as follower joints: by name, never by index."""

from __future__ import annotations

import math

import pytest

from teleop_bridge.exceptions import JointError, RigError
from teleop_bridge.mapping import LeaderMapping
from teleop_bridge.rig.loader import parse_rig

STREAMS = """
streams:
  state: {topic: joint_states, type: sensor_msgs/msg/JointState, role: state, max_age_ms: 50}
joints: {pan: {}, grip: {}}
"""
RIG = f"""
rig: mapped
leader:
  mapping:
    pan: {{source: lead_pan, sign: -1, offset: 0.5, wrap: true}}
    grip: {{source: trigger, scale: 2}}
{STREAMS}"""


def test_rows_are_found_by_name_whatever_the_order() -> None:
    sample = LeaderMapping(parse_rig(RIG)).map(['trigger', 'other', 'lead_pan'], [0.3, 9, 0.2], 7)
    assert sample.names == ('pan', 'grip')
    assert sample.positions == pytest.approx([0.3, 0.6])
    assert sample.stamp_ns == 7


def test_an_angle_that_wraps_goes_on() -> None:
    mapping = LeaderMapping(parse_rig(RIG))
    pans = [mapping.map(['lead_pan', 'trigger'], [a, 0], 0).positions[0] for a in (3.1, -3.1, 3.1)]
    assert pans == pytest.approx([0.5 - 3.1, 0.5 - (math.tau - 3.1), 0.5 - 3.1])


@pytest.mark.parametrize(
    ('names', 'values', 'message'),
    [
        (['lead_pan'], [0.0], "'trigger' is missing"),
        (['lead_pan', 'trigger', 'lead_pan'], [0.0, 0.0, 0.0], "'lead_pan' is repeated"),
        (['lead_pan', 'trigger'], [math.nan, 0.0], "'lead_pan' is not finite"),
        (['lead_pan', 'trigger'], [math.inf, 0.0], "'lead_pan' is not finite"),
        (['lead_pan', 'trigger'], [0.0], '2 joint names but 1 positions'),
    ],
)
def test_a_bad_message_is_refused_and_names_the_joint(
    names: list[str], values: list[float], message: str
) -> None:
    with pytest.raises(JointError, match=message):
        LeaderMapping(parse_rig(RIG)).map(names, values, 0)


def test_unknown_joints_are_refused_where_the_rig_is_strict() -> None:
    mapping = LeaderMapping(parse_rig(RIG + 'strict_joints: true\n'))
    with pytest.raises(JointError, match=r"unknown joint 'extra' \(the rig is strict\)"):
        mapping.map(['lead_pan', 'trigger', 'extra'], [0, 0, 0], 0)


def test_a_rig_without_a_mapping_is_refused() -> None:
    with pytest.raises(RigError, match='leader.mapping: required'):
        LeaderMapping(parse_rig(f'rig: plain\n{STREAMS}'))

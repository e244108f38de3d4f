# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The columns that an aligned episode gives, under the names that LeRobot users expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.align.episode import Episode, Times
from curation.export.action import action_of, ActionSource
from curation.manifests.weights import sample_weights, WeightOptions
from teleop_bridge.rig.schema import Role

# Roles whose signals are features of their own, beside the merged joint roles.
_SENSOR_ROLES = (Role.WRENCH, Role.LOAD, Role.POSE, Role.IK_VALIDITY)
# Roles that have events, or nothing, on the grid instead of samples.
_UNALIGNED = (Role.CAMERA_INFO, Role.INTERVENTION, Role.EPISODE, Role.OTHER)
ABSENT_NS = -1
_WEIGHTING = WeightOptions()
_PROPOSALS = {'human_proposal': 'human', 'policy_proposal': 'policy'}


@dataclass(frozen=True)
class Column:
    """One feature's values over an episode: (m, d) numbers, or m strings."""

    dtype: str                         # as LeRobot's info names it
    values: NDArray[Any]
    names: tuple[str, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return (1,) if self.values.ndim == 1 else self.values.shape[1:]


def columns(
    episode: Episode,
    action: ActionSource = ActionSource.EXECUTED,
    weighting: WeightOptions = _WEIGHTING,
    weight: float = 1.0,
) -> dict[str, Column]:
    """Return every non-image feature by name; ``action`` says which command has that name.

    Values are float32 as training uses them; times stay int64 nanoseconds. Proposals that were not
    made are NaN: nothing is filled in. ``valid`` is False where a required stream was masked,
    ``sample_weight`` is by ``weighting``, times the episode's own ``weight``. Raises ExportError
    where a person's proposal is to be the action and was not there at every sample.
    """
    joints = episode.rig.joint_names
    missing = np.full((len(episode), len(joints)), np.nan)
    found = {'observation.state': _floats(episode.state, joints)}
    if action is ActionSource.HUMAN:
        found['action'] = _floats(action_of(episode, action), joints)
        if episode.action is not None:
            found['executed_command'] = _floats(episode.action, joints)
    elif episode.action is not None:
        found['action'] = _floats(episode.action, joints)
    roles = {stream.role for stream in episode.rig.streams}
    for name, attribute in _PROPOSALS.items():
        if Role(name) in roles:
            values = getattr(episode, attribute)
            found[name] = _floats(missing if values is None else values, joints)
    for stream in episode.rig.streams:
        signal = episode.signals.get(stream.name)
        if stream.role in _SENSOR_ROLES and signal is not None:
            found[f'observation.{stream.name}'] = _floats(signal.values, signal.names)
    found |= _intervention(episode)
    found['valid'] = Column('bool', episode.valid)
    weights = weight * sample_weights(episode, weighting)
    found['sample_weight'] = Column('float32', weights.astype(np.float32))
    found['timestamp_ns'] = Column('int64', episode.grid_ns)
    # not action_lag_ns: LeRobot takes what begins with action for one
    found['lag_ns.action'] = Column('int64', episode.action_lag_ns)
    for stream in episode.rig.streams:
        if stream.role not in _UNALIGNED:
            stamps, staleness = _times(episode, stream.name)
            found[f'stamp_ns.{stream.name}'] = Column('int64', stamps)
            found[f'staleness_ns.{stream.name}'] = Column('int64', staleness)
    return found


def _times(episode: Episode, stream: str) -> tuple[Times, Times]:
    """Return a stream's stamps and staleness; -1 where a bag has nothing of it at all.

    All episodes of one rig so have the same features, whether a policy drove or not.
    """
    track = episode.tracks.get(stream)
    if track is None:
        absent = np.full(len(episode), ABSENT_NS, np.int64)
        return absent, absent
    return track.stamps_ns, track.staleness_ns


def _floats(values: NDArray[np.float64], names: tuple[str, ...]) -> Column:
    return Column('float32', values.astype(np.float32), names)


def _intervention(episode: Episode) -> dict[str, Column]:
    ids = np.array(episode.intervention_id, dtype=object)
    named = {intervention.id: intervention for intervention in episode.interventions}
    kinds = [named[i].kind if i in named else '' for i in ids]
    reasons = [named[i].reason if i in named else '' for i in ids]
    return {
        'authority': Column('float32', episode.authority.astype(np.float32)),
        'intervention': Column('bool', ids != ''),
        'intervention_id': Column('string', ids),
        'intervention_kind': Column('string', np.array(kinds, dtype=object)),
        'intervention_reason': Column('string', np.array(reasons, dtype=object)),
    }

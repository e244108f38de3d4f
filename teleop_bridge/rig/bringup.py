# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Which of our programs a rig needs, with their parameters: one answer for launch and demo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from teleop_bridge.rig.schema import Rig, Role
from teleop_bridge.sim.arms import arm_prefixes

Parameter = str | bool | int | float | list[float] | list[str]

OUR_CAMERA_SOURCES = ('v4l2', 'video')
_PACKAGES = {'recorder': 'recorder', 'reference': 'recorder', 'episode_scorer': 'curation'}


@dataclass(frozen=True)
class Process:
    """One node to start: its executable, its node name and its parameters."""

    executable: str
    name: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)

    @property
    def module(self) -> str:
        """Return the Python module that is this node's program."""
        return f'{_PACKAGES.get(self.executable, "teleop_bridge")}.nodes.{self.executable}'


def driving(rig: Rig, *, tasks: str = '', operator_id: str = '') -> tuple[Process, ...]:
    """Return what turns intent into commands on this rig: leader or hand, follower, intervention.

    A rig without a mapping has no leader arm, one without ``devices.hand`` no Cartesian device,
    one without authority is not driven by us, and one without a policy's proposals has nothing to
    intervene in.
    """
    parameters: dict[str, Parameter] = {'rig': rig.path}
    processes = []
    if rig.mapping:
        processes.append(Process('leader', 'leader', parameters))
    if 'hand' in rig.devices:
        processes.append(Process('hand', 'hand', parameters))
    if rig.by_role(Role.AUTHORITY):
        processes.append(Process('follower', 'follower', parameters))
    if rig.by_role(Role.POLICY_PROPOSAL) and rig.by_role(Role.INTERVENTION):
        extra = _given(tasks=tasks, operator_id=operator_id)
        processes.append(Process('intervention', 'intervention', {**parameters, **extra}))
    return tuple(processes)


def cameras(rig: Rig) -> tuple[Process, ...]:
    """Return one camera node for each camera that no other package feeds."""
    return tuple(
        Process('camera', f'camera_{camera.name}', {'rig': rig.path, 'camera': camera.name})
        for camera in rig.cameras
        if camera.source in OUR_CAMERA_SOURCES
    )


def simulation(rig: Rig, *, tasks: str = '', seed: int = 0) -> tuple[Process, ...]:
    """Return the simulated arm and its scripted operator, or several arms without one."""
    parameters: dict[str, Parameter] = {'rig': rig.path, 'seed': seed}
    prefixes = arm_prefixes(rig)
    if len(prefixes) > 1:
        return tuple(
            Process('sim_arm', f'sim_arm_{prefix.rstrip("_")}', {**parameters, 'prefix': prefix})
            for prefix in prefixes
        )
    return (
        Process('sim_rig', 'sim_rig', parameters),
        Process('sim_operator', 'sim_operator', {**parameters, **_given(tasks=tasks)}),
    )


def policy(rig: Rig, *, plugin: str, checkpoint: str = '') -> Process:
    """Return the node that runs one policy on this rig."""
    extra = _given(plugin=plugin, checkpoint=checkpoint)
    return Process('policy', 'policy', {'rig': rig.path, **extra})


def recording(
    rig: Rig,
    *,
    output: str,
    tasks: str = '',
    checks: str = '',
    task: str = '',
    operator_id: str = '',
    policy_checkpoint: str = '',
) -> tuple[Process, ...]:
    """Return what records and scores episodes: it fits beside any stack, ours or not."""
    facts = _given(
        tasks=tasks,
        checks=checks,
        task=task,
        operator_id=operator_id,
        policy_checkpoint=policy_checkpoint,
    )
    return (
        Process('recorder', 'recorder', {'rig': rig.path, 'output': output, **facts}),
        Process('episode_scorer', 'episode_scorer', {'rig': rig.path}),
    )


def _given(**parameters: str) -> dict[str, Parameter]:
    """Return those that were given: a node's own default stands for the others."""
    return {name: value for name, value in parameters.items() if value}

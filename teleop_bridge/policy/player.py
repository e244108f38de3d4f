# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Play a policy's action chunks as a steady stream of proposals."""

from __future__ import annotations

import numpy as np

from teleop_bridge.joints import JointSample
from teleop_bridge.policy.base import ActionChunk, check_chunk, Observation, Policy
from teleop_bridge.rig.schema import Rig


class PolicyPlayer:
    """Asks the policy when its time has come, from fresh observations only, and plays its chunks.

    A proposal is interpolated linearly between the chunk's times and ends with the chunk: nothing
    is repeated beyond it. Observations with an input older than its stream's maximum age are
    counted in ``refused`` by stream and never fed to the policy.
    """

    def __init__(self, policy: Policy, rig: Rig) -> None:
        self.refused: dict[str, int] = {}
        self.confidence: float | None = None
        self._policy = policy
        self._rig = rig
        self._max_age_ns = {
            name: rig.stream(name).max_age_ns or rig.follower.max_age_ns for name in policy.inputs
        }
        self._chunk: ActionChunk | None = None
        self._next_ns = 0

    def reset(self) -> None:
        """Begin a new episode."""
        self._policy.reset()
        self._chunk = None
        self._next_ns = 0

    def step(self, observation: Observation | None, now_ns: int) -> JointSample | None:
        """Return the proposal for ``now_ns``, None where there is none.

        Raises PolicyError where the policy proposes what no follower can take.
        """
        if (
            now_ns >= self._next_ns
            and observation is not None
            and self._fresh(observation, now_ns)
        ):
            self._next_ns = now_ns + self._policy.period_ns
            chunk = self._policy.propose(observation)
            if chunk is not None:
                check_chunk(chunk, self._rig)
                self.confidence = chunk.confidence
            self._chunk = chunk
        return self._play(now_ns)

    def _fresh(self, observation: Observation, now_ns: int) -> bool:
        ages = {'state': now_ns - observation.state.stamp_ns}
        limits = {'state': self._rig.follower.max_age_ns, **self._max_age_ns}
        for name in self._policy.inputs:
            stamp = observation.stamps_ns.get(name)
            ages[name] = limits[name] + 1 if stamp is None else now_ns - stamp
        stale = [name for name, age in ages.items() if age > limits[name]]
        for name in stale:
            self.refused[name] = self.refused.get(name, 0) + 1
        return not stale

    def _play(self, now_ns: int) -> JointSample | None:
        chunk = self._chunk
        if chunk is None or now_ns > chunk.times_ns[-1]:
            return None
        later = int(np.searchsorted(chunk.times_ns, now_ns))
        if later == 0:
            positions = chunk.positions[0]
        else:
            start, end = chunk.times_ns[later - 1 : later + 1]
            share = (now_ns - start) / (end - start)
            positions = (1 - share) * chunk.positions[later - 1] + share * chunk.positions[later]
        return JointSample(self._rig.joint_names, positions, now_ns)

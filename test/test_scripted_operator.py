# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Scripted operators really pick the cube, as their skill and script say."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray
import pytest

from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.follower import FollowerCore
from teleop_bridge.joints import JointSample
from teleop_bridge.policy.base import Observation, PolicyError
from teleop_bridge.policy.player import PolicyPlayer
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.sim.flawed import FlawedPolicy
from teleop_bridge.sim.hand import minimum_jerk, Tremor
from teleop_bridge.sim.kinematics import ArmKinematics
from teleop_bridge.sim.operator import Outcome, Request, ScriptedOperator, Sight
from teleop_bridge.sim.rig import SimRig
from teleop_bridge.sim.skill import BETTER, Script, Skill, skill_named, SKILLS

pytestmark = pytest.mark.skipif(
    find_spec('mujoco') is None, reason='the simulated rig needs pip install mujoco'
)  # not importorskip: MuJoCo must be imported by our engine, which chooses its GL

TICK_NS = 10_000_000
LIMIT_NS = 60_000_000_000


@pytest.fixture(scope='module')
def arm() -> ArmKinematics:
    return ArmKinematics()


@dataclass
class Run:
    solved: bool
    outcome: Outcome
    grasps: int
    seconds: float
    leader: NDArray[np.float64]


def attempt(rig: SimRig, operator: ScriptedOperator) -> Run:
    def sight(now_ns: int) -> Sight:
        return Sight(now_ns, rig.state().positions, rig.cube_pose())

    operator.begin(sight(0))
    now_ns, leader = 0, []
    while not operator.finished and now_ns < LIMIT_NS:
        leader.append(operator.step(sight(now_ns)))
        rig.command(leader[-1])
        rig.step(TICK_NS)
        now_ns += TICK_NS
    path = np.array(leader)
    return Run(rig.solved(), operator.outcome, operator.grasps, now_ns / 1e9, path)


def roughness(path: NDArray[np.float64]) -> float:
    """Log dimensionless jerk (Balasubramanian et al. 2015) of the five arm joints."""
    dt = TICK_NS / 1e9
    jerk = np.diff(path[:, :5], 3, axis=0) / dt**3
    speed = np.linalg.norm(np.diff(path[:, :5], axis=0), axis=1).max() / dt
    seconds = len(path) * dt
    return float(np.log(seconds**3 / speed**2 * (jerk**2).sum() * dt))


def operator(
    arm: ArmKinematics, skill: Skill, script: Script = Script.CLEAN, fatigue: float = 0.0
) -> ScriptedOperator:
    return ScriptedOperator(arm, skill=skill, seed=1, script=script, fatigue=fatigue)


@pytest.mark.parametrize('skill', SKILLS.values(), ids=SKILLS)
def test_cubes_anywhere_on_the_mat_end_in_the_bin(arm: ArmKinematics, skill: Skill) -> None:
    rig = SimRig(seed=11)
    for _ in range(3):
        rig.reset()
        run = attempt(rig, operator(arm, skill))
        assert run.solved
        assert run.outcome is Outcome.SUCCEEDED


def test_better_people_are_faster_and_smoother(arm: ArmKinematics) -> None:
    runs = []
    for skill in SKILLS.values():
        rig = SimRig(seed=5)
        rig.reset(cube_xy=(0.2, -0.1), cube_yaw=0.0)
        runs.append(attempt(rig, operator(arm, skill)))
    assert runs[0].seconds < runs[1].seconds < runs[2].seconds
    assert roughness(runs[0].leader) < roughness(runs[1].leader) < roughness(runs[2].leader)


def test_a_fumbled_grasp_is_retried(arm: ArmKinematics) -> None:
    rig = SimRig(seed=2)
    run = attempt(rig, operator(arm, BETTER, Script.FUMBLE))
    assert run.solved
    assert run.grasps == 2


def test_a_jerky_attempt_is_rougher_and_still_works(arm: ArmKinematics) -> None:
    rig = SimRig(seed=2)
    start = rig.snapshot()
    clean = attempt(rig, operator(arm, BETTER))
    rig.restore(start)
    jerky = attempt(rig, operator(arm, BETTER, Script.JERKY))
    assert jerky.solved
    assert roughness(jerky.leader) > roughness(clean.leader) + 1


def test_fatigue_slows(arm: ArmKinematics) -> None:
    rig = SimRig(seed=2)
    start = rig.snapshot()
    fresh = attempt(rig, operator(arm, BETTER))
    rig.restore(start)
    tired = attempt(rig, operator(arm, BETTER, fatigue=1.0))
    assert tired.seconds > fresh.seconds + 0.5


def test_one_seed_moves_in_one_way(arm: ArmKinematics) -> None:
    paths = []
    for _ in range(2):
        rig = SimRig(seed=4)
        paths.append(attempt(rig, operator(arm, BETTER)).leader)
    assert np.array_equal(paths[0], paths[1])


def test_an_unknown_skill_is_named() -> None:
    with pytest.raises(FlywheelError, match="expected one of better, okay, worse, found 'best'"):
        skill_named('best')


def test_a_minimum_jerk_reach_starts_and_ends_at_rest() -> None:
    shares = np.array([minimum_jerk(t) for t in np.linspace(0, 1, 1001)])
    rate = np.gradient(shares, 0.001)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert abs(rate[0]) < 1e-3 and abs(rate[-1]) < 1e-3
    assert rate.max() == pytest.approx(1.875, abs=1e-3)  # Flash and Hogan: at half time


def test_tremor_lies_in_its_band() -> None:
    tremor = Tremor(6, 0.01, np.random.default_rng(0))
    wave = np.array([tremor.at(n * TICK_NS)[0] for n in range(1000)])
    spectrum, hertz = np.abs(np.fft.rfft(wave)), np.fft.rfftfreq(1000, 0.01)
    in_band = (hertz > 7.5) & (hertz < 12.5)
    assert (spectrum[in_band] ** 2).sum() > 0.95 * (spectrum**2).sum()


def drive(rig: SimRig, policy: FlawedPolicy, seconds: float) -> None:
    """Let the policy alone drive."""
    player = PolicyPlayer(policy, RIG)
    for now_ns in range(0, round(seconds * 1e9), TICK_NS):
        state = JointSample(RIG.joint_names, rig.state().positions, now_ns)
        cube = rig.cube_pose()
        values = {'cube': np.concatenate([cube.xyz, np.roll(cube.quat, -1)])}
        proposal = player.step(Observation(now_ns, state, values, {'cube': now_ns}), now_ns)
        assert proposal is not None
        rig.command(proposal.positions)
        rig.step(TICK_NS)


RIG = load_rig(data_file('config/rigs/so101_sim.yaml'))


def test_the_flawed_policy_misses_and_its_sound_twin_does_not() -> None:
    rig = SimRig(seed=9)
    start = rig.snapshot()
    drive(rig, FlawedPolicy(RIG), 14)
    assert not rig.solved()
    rig.restore(start)
    drive(rig, FlawedPolicy(RIG, 'offset=0'), 14)
    assert rig.solved()


def test_a_person_corrects_the_flawed_policy_and_hands_back(arm: ArmKinematics) -> None:
    rig, core = SimRig(seed=9), FollowerCore(RIG, human_first=False)
    player = PolicyPlayer(FlawedPolicy(RIG), RIG)
    person = operator(arm, BETTER, Script.CORRECTION)
    person.begin(Sight(0, rig.state().positions, rig.cube_pose()))
    requests, now_ns = [], 0
    while not person.finished and now_ns < LIMIT_NS:
        state, cube = JointSample(RIG.joint_names, rig.state().positions, now_ns), rig.cube_pose()
        values = {'cube': np.concatenate([cube.xyz, np.roll(cube.quat, -1)])}
        proposal = player.step(Observation(now_ns, state, values, {'cube': now_ns}), now_ns)
        assert proposal is not None
        core.policy(proposal)
        core.measured(state)
        hand = person.step(Sight(now_ns, state.positions, cube))
        core.human(JointSample(RIG.joint_names, hand, now_ns))
        request = person.take_request()
        if request is Request.TAKE_OVER:
            core.take_over('i1', now_ns)
        elif request is Request.HAND_BACK:
            core.hand_back(now_ns)
        requests += [request] if request else []
        command = core.step(now_ns).command
        assert command is not None
        rig.command(command)
        rig.step(TICK_NS)
        now_ns += TICK_NS
    assert requests == [Request.TAKE_OVER, Request.HAND_BACK]
    assert person.outcome is Outcome.SUCCEEDED
    assert rig.solved()


def test_a_checkpoint_it_does_not_know_is_refused() -> None:
    with pytest.raises(PolicyError, match='expected a checkpoint such as offset=0.045'):
        FlawedPolicy(RIG, 'best.onnx')

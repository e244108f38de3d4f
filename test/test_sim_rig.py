# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated rig: what its file says, its physics, its cameras."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from teleop_bridge.exceptions import FlywheelError, JointError
from teleop_bridge.mapping import LeaderMapping
from teleop_bridge.resources import data_file
from teleop_bridge.rig.loader import load_rig
from teleop_bridge.rig.tasks import load_tasks
from teleop_bridge.sim import engine
from teleop_bridge.sim.kinematics import ArmKinematics, ToolPose
from teleop_bridge.sim.leader import leader_sample
from teleop_bridge.sim.meshes import decimated
from teleop_bridge.sim.rig import SimRig
from teleop_bridge.sim.scene import camera_model, CUBE_HALF, JOINTS

pytestmark = pytest.mark.skipif(
    find_spec('mujoco') is None, reason='the simulated rig needs pip install mujoco'
)  # not importorskip: MuJoCo must be imported by our engine, which chooses its GL

RIG = load_rig(data_file('config/rigs/so101_sim.yaml'))
TICK_NS = 10_000_000


@pytest.fixture(scope='module')
def sim() -> SimRig:
    return SimRig(seed=3)


def test_the_rig_file_declares_the_scene(sim: SimRig) -> None:
    assert RIG.joint_names == JOINTS
    for camera in RIG.cameras:
        scene = camera_model(sim.model, camera.name)
        assert (camera.frame_id, camera.parent_frame) == (scene.frame_id, scene.parent_frame)
        assert camera.xyz == pytest.approx(scene.xyz)
        w, x, y, z = scene.quat_wxyz
        turn = Rotation.from_euler('xyz', camera.rpy or ())
        turn *= Rotation.from_quat([x, y, z, w]).inv()
        assert turn.magnitude() < 1e-4
    low, high = sim.model.actuator_ctrlrange.T
    assert [joint.lower for joint in RIG.joints] == pytest.approx(low, abs=1e-3)
    assert [joint.upper for joint in RIG.joints] == pytest.approx(high, abs=1e-3)


def test_every_location_of_the_task_can_be_grasped() -> None:
    arm = ArmKinematics()
    locations = load_tasks(data_file('config/tasks/pick_place.yaml')).task('pick_place').locations
    for location in locations:
        assert location.xyz is not None
        target = ToolPose.above(np.array(location.xyz[:2]), 0.02, yaw=0.3)
        reached = arm.tool(np.append(arm.joints(target), 0.0))
        assert reached.xyz == pytest.approx(target.xyz, abs=1e-3)


def test_the_leader_maps_to_what_the_operator_wants() -> None:
    wanted = np.array([0.3, -1.0, 0.8, 1.2, -0.4, 0.7])
    leader = leader_sample(RIG, wanted, 5)
    mapped = LeaderMapping(RIG).map(leader.names, leader.positions.tolist(), 5)
    assert mapped.positions == pytest.approx(wanted)


def test_one_seed_gives_one_episode() -> None:
    first, second = SimRig(seed=7), SimRig(seed=7)
    for rig in (first, second):
        rig.reset()
        rig.command(rig.state().positions + 0.1)
        rig.step(50 * TICK_NS)
    assert np.array_equal(first.positions(), second.positions())


def test_the_arm_follows_and_the_cube_stays(sim: SimRig) -> None:
    sim.reset(cube_xy=(0.2, -0.1), cube_yaw=0.4)
    wanted = sim.state().positions + np.array([0.3, 0.1, -0.1, -0.1, 0.2, 0.3])
    sim.command(wanted)
    sim.step(100 * TICK_NS)
    assert sim.state().positions == pytest.approx(wanted, abs=0.02)
    assert sim.cube_pose().xyz == pytest.approx([0.2, -0.1, CUBE_HALF], abs=1e-3)
    assert sim.cube_pose().yaw == pytest.approx(0.4, abs=0.01)
    assert not sim.solved()


def test_the_wrist_feels_the_grippers_weight(sim: SimRig) -> None:
    sim.reset()
    gripper_kg = sum(sim.model.body(name).mass[0] for name in ('gripper', 'moving_jaw_so101_v1'))
    assert np.linalg.norm(sim.wrench()[:3]) == pytest.approx(9.81 * gripper_kg, rel=0.02)


def test_a_command_that_is_not_finite_is_refused(sim: SimRig) -> None:
    with pytest.raises(JointError, match='expected 6 finite joint positions'):
        sim.command(np.full(6, np.nan))


def test_steps_shorter_than_the_physics_add_up(sim: SimRig) -> None:
    sim.reset(joints=np.zeros(6))
    start = sim.snapshot()
    sim.command(np.full(6, 0.2))
    for _ in range(10):
        sim.step(3_000_001)
    fine = sim.positions()
    sim.restore(start)
    sim.command(np.full(6, 0.2))
    sim.step(30_000_010)
    assert np.array_equal(sim.positions(), fine)


def test_meshes_are_decimated_once(tmp_path: Path) -> None:
    source = engine.assets_folder() / 'assets' / 'under_arm_so101_v1.stl'
    small = decimated(source, cache=tmp_path)
    assert small.stat().st_size < source.stat().st_size / 10
    made = small.stat().st_mtime_ns
    assert decimated(source, cache=tmp_path).stat().st_mtime_ns == made
    assert [path.name for path in (tmp_path / 'meshes').iterdir()] == [small.name]


def test_what_is_no_mesh_is_named(tmp_path: Path) -> None:
    bad = tmp_path / 'bad.stl'
    bad.write_bytes(b'solid ascii' * 20)
    with pytest.raises(FlywheelError, match='bad.stl: expected a binary STL of'):
        decimated(bad, cache=tmp_path)


def test_the_front_camera_sees_the_cube_where_it_is(sim: SimRig) -> None:
    from teleop_bridge.sim.rendering import SceneRenderer

    sim.reset(cube_xy=(0.2, -0.12), joints=np.array([1.2, -1.4, 1.2, 0.5, 0.0, 0.2]))
    renderer = SceneRenderer()
    renderer.show(sim.positions())
    colour, depth = renderer.colour('front'), renderer.depth('front')
    renderer.close()
    camera = camera_model(sim.model, 'front')
    w, x, y, z = camera.quat_wxyz
    turn = Rotation.from_quat([x, y, z, w]).inv()
    seen = turn.apply(sim.cube_pose().xyz - np.array(camera.xyz))
    u, v, one = camera.intrinsics() @ (seen / seen[2])
    assert one == 1
    red, green, blue = colour[round(v), round(u)].astype(int)
    assert red > 2 * max(green, blue)
    assert depth[round(v), round(u)] / 1000 == pytest.approx(seen[2], abs=1.8 * CUBE_HALF)


def test_a_missing_gl_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from teleop_bridge.sim import rendering

    def broken(*_: object) -> None:
        raise AttributeError("'NoneType' object has no attribute 'eglQueryString'")

    monkeypatch.setattr(engine.mujoco(), 'Renderer', broken)
    with pytest.raises(FlywheelError, match='apt install libegl1'):
        rendering.SceneRenderer()

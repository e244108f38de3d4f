# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated rig's scene: an SO-101 on a mat, a cube, a bin, two cameras."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teleop_bridge.sim.engine import assets_folder, mujoco
from teleop_bridge.sim.meshes import decimated

JOINTS = (
    'shoulder_pan', 'shoulder_lift', 'elbow_flex', 'wrist_flex', 'wrist_roll', 'gripper',
)  # fmt: skip
LINKS = ('base', 'shoulder', 'upper_arm', 'lower_arm', 'wrist', 'gripper', 'moving_jaw_so101_v1')
ROOT_FRAME = 'base_link'
CAMERAS = ('front', 'wrist')
WIDTH, HEIGHT = 640, 480

CUBE_HALF = 0.018                    # m
BIN_XY = (0.17, 0.17)                # m, centre of the bin in the base frame
BIN_HALF = 0.05                      # m, inside
BIN_HEIGHT = 0.035                   # m
# Where the cube may start: polar about the shoulder's axis, m and rad.
SHOULDER_XY = (0.0388, 0.0)
CUBE_RADIUS = (0.13, 0.24)
CUBE_AZIMUTH = (-1.1, 0.35)

TIMESTEP = 0.002                     # s
# The published gains let the arm sag by centimetres; the real servos hold to about a degree.
_STIFFNESS = 60.0                    # N m / rad
_DAMPING = 2.5                       # N m s / rad
_GRIP_TORQUE = 1.0                   # N m, at the limit of which the gripper's servo closes
# The tool point in the gripper's frame: between the jaws, a cube's half and 6 mm of clearance
# from the fixed one's face. It points along -z, the jaws close along x.
_TOOL = (-0.0015 + CUBE_HALF + 0.006, -0.0002, -0.0972)
_FRONT_POS, _FRONT_AIM = np.array([0.56, -0.10, 0.42]), np.array([0.17, 0.03, 0.02])
_WRIST_POS, _WRIST_TILT = (0.0, 0.062, -0.012), -0.55
_FOVY = {'front': 45.0, 'wrist': 70.0}  # deg


@dataclass(frozen=True)
class CameraModel:
    """A pinhole camera: ``fovy`` in rad; x right, y down, z forward in its optical frame."""

    name: str
    parent_frame: str
    xyz: tuple[float, float, float]
    quat_wxyz: tuple[float, float, float, float]  # of the optical frame in the parent frame
    fovy: float

    @property
    def frame_id(self) -> str:
        """Return the optical frame's name."""
        return f'{self.name}_camera_optical_frame'

    def intrinsics(self) -> NDArray[np.float64]:
        """Return the 3x3 matrix for WIDTH x HEIGHT pixels."""
        focal = HEIGHT / 2 / math.tan(self.fovy / 2)
        return np.array([[focal, 0, WIDTH / 2], [0, focal, HEIGHT / 2], [0, 0, 1]])


def in_bin(cube_xyz: NDArray[np.float64]) -> bool:
    """Return whether the cube's centre, m, lies in the bin and not above it."""
    inside = np.all(np.abs(cube_xyz[:2] - BIN_XY) < BIN_HALF)
    return bool(inside and cube_xyz[2] < 2 * CUBE_HALF)


def compile_scene(*, visual: bool) -> Any:
    """Return the scene as a compiled MjModel; without ``visual`` no mesh is read.

    Both forms have the same joints, masses and contacts: physics runs without meshes, rendering
    copies the joint positions. Contacts are between jaws, cube, bin and mat.
    """
    mj = mujoco()
    spec = mj.MjSpec.from_file(str(assets_folder() / 'so101_new_calib.xml'))
    spec.option.timestep = TIMESTEP
    spec.option.integrator = mj.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mj.mjtCone.mjCONE_ELLIPTIC
    spec.option.noslip_iterations = 5
    spec.visual.quality.offsamples = 0
    spec.visual.global_.offwidth, spec.visual.global_.offheight = WIDTH, HEIGHT
    spec.visual.headlight.ambient = [0.4, 0.4, 0.4]
    spec.visual.map.znear = 0.02
    _strip_meshes(mj, spec, visual)
    _drive(spec)
    _grip(mj, spec)
    _furnish(mj, spec)
    _look(mj, spec)
    return spec.compile()


def _strip_meshes(mj: Any, spec: Any, visual: bool) -> None:
    for geom in list(spec.geoms):
        # Convex hulls of the printed parts close the gap between the jaws: pads stand for them.
        is_collider = geom.classname.name == 'collision'
        if geom.type == mj.mjtGeom.mjGEOM_MESH and (is_collider or not visual):
            spec.delete(geom)
    for mesh in list(spec.meshes):
        if visual:
            mesh.file = str(decimated(assets_folder() / 'assets' / mesh.file))
        else:
            spec.delete(mesh)


def _drive(spec: Any) -> None:
    for actuator in spec.actuators:
        actuator.gainprm[0] = _STIFFNESS
        actuator.biasprm[1:3] = -_STIFFNESS, -_DAMPING
        if actuator.name == 'gripper':
            actuator.forcerange = [-_GRIP_TORQUE, _GRIP_TORQUE]


def _grip(mj: Any, spec: Any) -> None:
    for name in ('fixed_jaw_pad', 'moving_jaw_pad'):
        pad = spec.geom(name)
        pad.contype = pad.conaffinity = 1
        pad.condim, pad.friction = 4, [1.2, 0.02, 0.001]
    gripper = spec.body('gripper')
    gripper.add_site(name='tool', pos=_TOOL, group=4)
    gripper.add_site(name='wrist_force', group=4)
    for name, kind in (
        ('wrist_force', mj.mjtSensor.mjSENS_FORCE), ('wrist_torque', mj.mjtSensor.mjSENS_TORQUE)
    ):  # fmt: skip
        spec.add_sensor(
            name=name, type=kind, objtype=mj.mjtObj.mjOBJ_SITE, objname='wrist_force'
        )


def _furnish(mj: Any, spec: Any) -> None:
    world, box = spec.worldbody, mj.mjtGeom.mjGEOM_BOX
    world.add_light(pos=[0.3, -0.3, 1.2], dir=[-0.1, 0.2, -1], castshadow=False)
    world.add_geom(
        name='mat', type=mj.mjtGeom.mjGEOM_PLANE, size=[0.6, 0.6, 0.01], rgba=[0.35, 0.42, 0.4, 1],
        friction=[0.8, 0.01, 0.001],
    )  # fmt: skip
    cube = world.add_body(name='cube', pos=[0.2, 0, CUBE_HALF])
    cube.add_freejoint(name='cube')
    cube.add_geom(
        name='cube', type=box, size=[CUBE_HALF] * 3, mass=0.03, rgba=[0.8, 0.15, 0.15, 1],
        condim=4, friction=[1.0, 0.02, 0.001],
    )  # fmt: skip
    wall, height = 0.003, BIN_HEIGHT / 2
    basket = world.add_body(name='bin', pos=[*BIN_XY, 0])
    reach = BIN_HALF + wall
    for pos, size in (
        ((reach, 0, height), (wall, reach, height)),
        ((-reach, 0, height), (wall, reach, height)),
        ((0, reach, height), (reach, wall, height)),
        ((0, -reach, height), (reach, wall, height)),
        ((0, 0, wall / 2), (reach, reach, wall / 2)),
    ):
        basket.add_geom(type=box, pos=pos, size=size, rgba=[0.15, 0.35, 0.75, 1])


def _look(mj: Any, spec: Any) -> None:
    forward = (_FRONT_AIM - _FRONT_POS) / np.linalg.norm(_FRONT_AIM - _FRONT_POS)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    axes = np.column_stack([right, np.cross(right, forward), -forward])
    quat = np.zeros(4)
    mj.mju_mat2Quat(quat, axes.ravel())
    spec.worldbody.add_camera(name='front', pos=_FRONT_POS, quat=quat, fovy=_FOVY['front'])
    tilt = [math.cos(_WRIST_TILT / 2), math.sin(_WRIST_TILT / 2), 0, 0]
    wrist = spec.body('gripper')
    wrist.add_camera(name='wrist', pos=_WRIST_POS, quat=tilt, fovy=_FOVY['wrist'])


def camera_model(model: Any, name: str) -> CameraModel:
    """Return one of CAMERAS as the compiled scene has it, mounted on a link of the arm."""
    mj = mujoco()
    camera = model.camera(name)
    body = model.body(int(camera.bodyid[0])).name
    optical = np.zeros(4)
    # MuJoCo's cameras look along -z with y up, optical frames along z with y down.
    mj.mju_mulQuat(optical, camera.quat, np.array([0.0, 1.0, 0.0, 0.0]))
    x, y, z = camera.pos
    w, i, j, k = optical
    return CameraModel(
        name,
        parent_frame=ROOT_FRAME if body == 'world' else f'{body}_link',
        xyz=(float(x), float(y), float(z)),
        quat_wxyz=(float(w), float(i), float(j), float(k)),
        fovy=math.radians(float(camera.fovy[0])),
    )

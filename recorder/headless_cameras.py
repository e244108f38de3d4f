# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The headless rig's cameras, at their rates and at the size that its rig file declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from numpy.typing import NDArray
import yaml

from recorder.bag import messages
from teleop_bridge.clock import NANOSECONDS
from teleop_bridge.rig.loader import parse_rig
from teleop_bridge.rig.schema import Camera, Rig, Role, Stream
from teleop_bridge.sim.rendering import SceneRenderer
from teleop_bridge.sim.rig import SimRig
from teleop_bridge.sim.scene import camera_model, HEIGHT

Frame = tuple[Stream, NDArray[Any], Callable[[int], bytes]]

_SEEN = (Role.CAMERA, Role.CAMERA_INFO, Role.DEPTH)
_UNHEARD = ('std_msgs/msg/String', 'tf2_msgs/msg/TFMessage')  # of nodes that headless has not


class HeadlessCameras:
    """Renders the rig's cameras; images are of the size that the rig file gives them."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._renderers: dict[tuple[int, int], SceneRenderer] = {}

    def due(self, sim: SimRig, elapsed_ns: int, period_ns: int) -> Iterator[Frame]:
        """Yield what falls on the control period at this time since the start.

        Each is a stream, its pixels (or matrix), and what serialises it for a stamp.
        """
        for camera in self._rig.cameras:
            image = self._rig.stream(camera.image)
            if _is_due(image, elapsed_ns, period_ns):
                pixels = self._show(sim, camera).colour(camera.name)
                yield image, pixels, _serialiser(pixels, 'rgb8', camera.frame_id)
                if camera.info is not None:
                    yield self._info(sim, camera)
            if camera.depth is None:
                continue
            stream = self._rig.stream(camera.depth)
            if _is_due(stream, elapsed_ns, period_ns):
                depth = self._show(sim, camera).depth(camera.name)
                yield stream, depth, _serialiser(depth, '16UC1', camera.frame_id)

    def _info(self, sim: SimRig, camera: Camera) -> Frame:
        assert camera.info is not None
        width, height = _size(camera)
        matrix = camera_model(sim.model, camera.name).intrinsics()
        matrix[:2] *= height / HEIGHT

        def make(stamp_ns: int) -> bytes:
            return messages.camera_info(
                stamp_ns, width=width, height=height, matrix=matrix, frame_id=camera.frame_id
            )

        return self._rig.stream(camera.info), matrix, make

    def _show(self, sim: SimRig, camera: Camera) -> SceneRenderer:
        size = _size(camera)
        if size not in self._renderers:
            self._renderers[size] = SceneRenderer(width=size[0], height=size[1])
        self._renderers[size].show(sim.positions())
        return self._renderers[size]


def headless_variant(rig: Rig, *, width: int = 0, height: int = 0) -> Rig:
    """Return the rig as the headless one records it: cameras of this size, or none where 0.

    What only nodes publish (the URDF, tf) is left out.
    """
    tree = yaml.safe_load(rig.text)
    gone = {
        stream.name
        for stream in rig.streams
        if stream.type in _UNHEARD or (not width and stream.role in _SEEN)
    }
    tree['streams'] = {name: entry for name, entry in tree['streams'].items() if name not in gone}
    if width:
        for entry in tree['cameras'].values():
            entry.update(width=width, height=height)
    else:
        tree.pop('cameras', None)
    return parse_rig(yaml.safe_dump(tree, sort_keys=False), f'{rig.path} (headless)')


def _size(camera: Camera) -> tuple[int, int]:
    return camera.width or 640, camera.height or 480


def _is_due(stream: Stream, elapsed_ns: int, period_ns: int) -> bool:
    """Tell whether a frame falls on this control period, the first at 0."""
    frame_ns = round(NANOSECONDS / (stream.rate_hz or 30.0))
    return elapsed_ns // frame_ns != (elapsed_ns - period_ns) // frame_ns


def _serialiser(pixels: NDArray[Any], encoding: str, frame_id: str) -> Callable[[int], bytes]:
    def make(stamp_ns: int) -> bytes:
        return messages.image(stamp_ns, pixels, encoding=encoding, frame_id=frame_id)

    return make

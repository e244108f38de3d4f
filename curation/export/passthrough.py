# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Video that a bag holds in the wanted codec already, copied without encoding it again."""

from __future__ import annotations

from collections.abc import Sequence
import io
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from curation.align.frames import FrameSource
from curation.bag.video import is_key_frame
from curation.export.video import mp4, TICKS_PER_FRAME, time_base

_FORMATS = {'h264': 'h264', 'hevc': 'h265'}  # as CompressedVideo names them
_DEMUXERS = {'h264': 'h264', 'hevc': 'hevc'}


def packets_of(
    frames: object, indices: NDArray[np.int64], codec: str
) -> list[bytes] | None:
    """Return the packets of a video's messages; None where they can't be copied.

    They can where the source is a video of this codec, every sample has the message after the
    last one's (no other grid allows it), and the first is a key frame.
    """
    if not isinstance(frames, FrameSource) or codec not in _FORMATS:
        return None
    if len(indices) > 1 and not (np.diff(indices) == 1).all():
        return None
    first = frames.packet(int(indices[0]))
    if first is None or first[1] != _FORMATS[codec] or not is_key_frame(*first):
        return None
    packets = [frames.packet(int(index)) for index in indices]
    return [packet[0] for packet in packets if packet is not None]


def copy_packets(packets: Sequence[bytes], path: Path, *, fps: int, codec: str) -> None:
    """Write packets in Annex B format, one a frame, as an mp4 file at a constant rate."""
    opened: Any = av.open(io.BytesIO(b''.join(packets)), format=_DEMUXERS[codec])
    with opened as source, mp4(path, fps=fps) as container:
        video = source.streams.video[0]
        stream: Any = container.add_stream_from_template(video, opaque=True)
        stream.time_base = time_base(fps)
        for number, packet in enumerate(source.demux(video)):
            if packet.size:
                packet.stream = stream
                packet.time_base = time_base(fps)
                packet.pts = packet.dts = number * TICKS_PER_FRAME
                container.mux(packet)

# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Decode CompressedVideo: one message is one frame of H.264 or H.265, which needs those before."""

from __future__ import annotations

from collections.abc import Callable
import re
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from curation.exceptions import DecodeError

VIDEO_FIELDS = ('timestamp', 'frame_id', 'data', 'format')  # of foxglove's CompressedVideo
_CODECS = {'h264': 'h264', 'h265': 'hevc'}
_START_CODE = re.compile(b'\x00\x00\x01')


def is_key_frame(data: bytes, format_: str) -> bool:
    """Tell whether a frame in Annex B format can be decoded without those before it."""
    for match in _START_CODE.finditer(data):
        if match.end() >= len(data):
            break
        head = data[match.end()]
        if format_ == 'h264' and head & 0x1F == 5:
            return True
        if format_ == 'h265' and 16 <= (head >> 1) & 0x3F <= 21:
            return True
    return False


class VideoStream:
    """Decodes frame by frame; ``packet(i)`` gives message i's bytes and format."""

    def __init__(self, packet: Callable[[int], tuple[bytes, str]], where: str) -> None:
        self._packet = packet
        self._where = where
        self._decoder: Any = None
        self._last = -1
        self._frame: NDArray[np.uint8] | None = None

    def frame(self, index: int) -> NDArray[np.uint8]:
        """Return frame ``index`` as (height, width, 3) uint8, RGB; raises DecodeError."""
        if index == self._last and self._frame is not None:
            return self._frame
        start = self._last + 1
        if self._decoder is None or index < start:
            start = self._key_frame_before(index)
            self._decoder = self._new_decoder(self._packet(start)[1])
        for i in range(start, index + 1):
            self._frame = self._decode(i)
            self._last = i
        assert self._frame is not None
        return self._frame

    def _decode(self, index: int) -> NDArray[np.uint8]:
        try:
            frames = self._decoder.decode(av.Packet(self._packet(index)[0]))
        except av.FFmpegError as error:
            self._decoder = None
            raise DecodeError(
                f"{self._where}, frame {index}: can't be decoded ({error})"
            ) from error
        if not frames:
            self._decoder = None
            raise DecodeError(
                f'{self._where}, frame {index}: expected one frame per message, found '
                'none (B frames are not allowed in CompressedVideo)'
            )
        return np.asarray(frames[-1].to_ndarray(format='rgb24'), np.uint8)

    def _key_frame_before(self, index: int) -> int:
        for i in range(index, -1, -1):
            if is_key_frame(*self._packet(i)):
                return i
        raise DecodeError(f'{self._where}, frame {index}: no key frame before it')

    def _new_decoder(self, format_: str) -> Any:
        if format_ not in _CODECS:
            raise DecodeError(f"{self._where}: expected h264 or h265, found '{format_}'")
        decoder = av.CodecContext.create(_CODECS[format_], 'r')
        decoder.flags |= av.codec.context.Flags.low_delay
        decoder.thread_count = 1  # frame threads would hold frames back
        return decoder

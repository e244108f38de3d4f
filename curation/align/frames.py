# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Images of one stream, read and decoded when asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from curation.align.episode import Image
from curation.align.series import Series
from curation.bag.images import decode_color, decode_depth
from curation.bag.reader import BagReader, open_bag
from curation.bag.video import VIDEO_FIELDS, VideoStream
from teleop_bridge.rig.schema import Role


class FrameSource:
    """Decodes the images of one stream by their place in stamp order.

    It opens the bag at the first image, so that many episodes can be held. Consecutive images of
    a video are decoded once each; going back decodes from the key frame before.
    """

    def __init__(self, path: Path | str, series: Series) -> None:
        self._path = path
        self._topic = series.topic
        self._where = f"{path}: stream '{series.stream.name}'"
        self._depth = series.stream.role is Role.DEPTH
        self._refs = series.refs[np.argsort(series.stamps_ns, kind='stable')]
        self._bag: BagReader | None = None
        self._video: VideoStream | None = None

    def __len__(self) -> int:
        return len(self._refs)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, '_bag': None, '_video': None}

    def __call__(self, index: int) -> Image:
        """Return image ``index``; DecodeError where it is broken."""
        self._open()
        if self._video is not None:
            return self._video.frame(index)
        message = self._message(index)
        where = f'{self._where}, image {index}'
        return decode_depth(message, where) if self._depth else decode_color(message, where)

    def packet(self, index: int) -> tuple[bytes, str] | None:
        """Return image ``index`` of a video as its encoder made it, and its format, else None."""
        self._open()
        return self._packet(index) if self._video is not None else None

    def close(self) -> None:
        """Close the bag; it is opened again when an image is asked for."""
        if self._bag is not None:
            self._bag.close()
        self._bag = self._video = None

    def _open(self) -> None:
        if self._bag is None:
            self._bag = open_bag(self._path)
            if set(VIDEO_FIELDS) <= set(self._bag.decoder(self._topic).fields):
                self._video = VideoStream(self._packet, self._where)

    def _message(self, index: int) -> object:
        assert self._bag is not None
        a, b, c, d = (int(part) for part in self._refs[index])
        return self._bag.decoder(self._topic).decode(self._bag.read((a, b, c, d)))

    def _packet(self, index: int) -> tuple[bytes, str]:
        message = self._message(index)
        return bytes(message.data), str(message.format)  # type: ignore[attr-defined]

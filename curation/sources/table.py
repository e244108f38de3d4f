# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Columns of datasets as the streams that a bag would have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from curation.align.episode import Times, Values
from curation.align.series import JointTable, NO_TIME, Series
from recorder.bag.content_id import ContentHash
from teleop_bridge.rig.schema import Stream

ALL = slice(None)  # of a dataset's episodes


def image_series(stream: Stream, stamps: Times) -> Series:
    """Return a stream of images, or of anything else, at given times, ns."""
    nothing = np.full(len(stamps), NO_TIME, np.int64)
    return Series(
        stream,
        stream.topic,
        stamps,
        nothing,
        nothing,
        stamps,
        np.zeros((len(stamps), 4), np.int64),
        np.zeros(len(stamps), np.int64),
    )


def joint_series(stream: Stream, stamps: Times, values: Values, names: Sequence[str]) -> Series:
    """Return a stream of joint positions (n, len(names)) at times (n,), ns."""
    nothing = np.full(values.shape, np.nan)
    present = np.ones(values.shape, bool)
    order = tuple(names)
    joints = JointTable(order, values, nothing, nothing, present, ((0, order),))
    return replace(image_series(stream, stamps), joints=joints)


def content_id(series: Mapping[str, Series]) -> str:
    """Return the id of the joint values and their times."""
    content = ContentHash()
    for name, one in series.items():
        if one.joints is not None:
            for stamp, row in zip(one.stamps_ns.tolist(), one.joints.positions, strict=True):
                content.add(name, 'dataset', stamp, stamp, row.tobytes())
    return content.hexdigest()

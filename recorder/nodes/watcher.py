# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Watches the ROS graph: subscribes each wanted topic as its publishers offer it."""

from __future__ import annotations

from dataclasses import dataclass
import importlib
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from recorder.bag.definitions import definition
from recorder.bag.topic import Qos, TopicInfo
from recorder.capture import Capture
from recorder.exceptions import TopicError
from recorder.nodes.subscriptions import RawSubscriptions
from teleop_bridge.exceptions import FlywheelError
from teleop_bridge.rig.schema import Storage

QUEUE_SECONDS = 2.0  # of messages that the middleware holds for us
MIN_DEPTH, MAX_DEPTH = 20, 2000


@dataclass(frozen=True)
class Wanted:
    """A topic to record; ``type`` empty takes whatever type its publishers have."""

    topic: str
    type: str = ''
    expected_hz: float | None = None
    latched: bool = False
    storage: Storage = Storage.RAW


@dataclass(frozen=True)
class _Known:
    subscribed: tuple[str, bool, bool]  # type, reliable, transient local
    publishers: frozenset[tuple[int, ...]]


class TopicWatcher:
    """Keeps the subscriptions in step with the publishers; ``problems`` says per topic why not."""

    def __init__(
        self, node: Node, wanted: list[Wanted], capture: Capture, subscriptions: RawSubscriptions
    ) -> None:
        """Watch for ``wanted``; nothing is subscribed before the first ``update``."""
        self.problems: dict[str, str] = {}
        self._node = node
        self._wanted = wanted
        self._capture = capture
        self._subscriptions = subscriptions
        self._known: dict[str, _Known] = {}

    def update(self) -> None:
        """Look at the graph once; cheap enough for twice a second."""
        for wanted in self._wanted:
            publishers = self._node.get_publishers_info_by_topic(wanted.topic)
            if not publishers:
                continue
            try:
                self._match(wanted, publishers)
                self.problems.pop(wanted.topic, None)
            except FlywheelError as error:
                self.problems[wanted.topic] = str(error)

    def _match(self, wanted: Wanted, publishers: list[TopicEndpointInfo]) -> None:
        types = sorted({info.topic_type for info in publishers})
        type_ = wanted.type or types[0]
        if types != [type_]:
            raise TopicError(f'{wanted.topic}: expected type {type_}, found {", ".join(types)}')
        reliable = all(
            info.qos_profile.reliability is ReliabilityPolicy.RELIABLE for info in publishers
        )
        local = all(
            info.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL for info in publishers
        )
        gids = frozenset(tuple(info.endpoint_gid) for info in publishers)
        known = self._known.get(wanted.topic)
        now = _Known((type_, reliable, local), gids)
        if known == now:
            return
        info = TopicInfo(
            name=wanted.topic,
            type=type_,
            schema_text=definition(type_),
            qos=tuple(_offered(info) for info in publishers),
            type_hash=str(publishers[0].topic_type_hash),
            latched=wanted.latched or local,
            storage=wanted.storage,
        )
        self._capture.add_topic(info, expected_hz=wanted.expected_hz, publishers=len(gids))
        if known is not None:
            self._capture.publisher_changed(wanted.topic)
        if known is None or known.subscribed != now.subscribed:
            depth = round(
                min(max((wanted.expected_hz or 0) * QUEUE_SECONDS, MIN_DEPTH), MAX_DEPTH)
            )
            self._subscriptions.add(
                wanted.topic,
                _load_type(type_),
                QoSProfile(
                    depth=depth,
                    reliability=ReliabilityPolicy.RELIABLE
                    if reliable
                    else ReliabilityPolicy.BEST_EFFORT,
                    durability=DurabilityPolicy.TRANSIENT_LOCAL
                    if local
                    else DurabilityPolicy.VOLATILE,
                ),
            )
        self._known[wanted.topic] = now


def _load_type(type_: str) -> Any:
    package, kind, name = type_.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.{kind}'), name)
    except (ImportError, AttributeError) as error:
        raise TopicError(
            f'type {type_}: expected its package {package} to be installed, found {error}'
        ) from error


def _offered(info: TopicEndpointInfo) -> Qos:
    profile = info.qos_profile
    return Qos(
        reliability=profile.reliability.name.lower(),
        durability=profile.durability.name.lower(),
        history=profile.history.name.lower(),
        depth=profile.depth,
        deadline_ns=profile.deadline.nanoseconds,
        lifespan_ns=profile.lifespan.nanoseconds,
        liveliness=profile.liveliness.name.lower(),
        lease_ns=profile.liveliness_lease_duration.nanoseconds,
    )

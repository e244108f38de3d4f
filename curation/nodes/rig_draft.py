# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""Drafts a rig file from what is being published, then ends."""

from __future__ import annotations

import importlib
from pathlib import Path
import sys
from typing import Any

from rclpy.node import Node
from rclpy.serialization import deserialize_message

from curation.bag.draft import draft_text, JOINT_TYPES, Observed, SAMPLES
from curation.exceptions import BagError
from recorder.bag.stamps import header_stamp_ns
from teleop_bridge.nodes.parameters import declare
from teleop_bridge.nodes.qos import SENSOR
from teleop_bridge.nodes.run import run

_LEFT_OUT = ('/rosout', '/parameter_events')
_LOOK_S = 0.5  # between two looks at which topics there are


class RigDraftNode(Node):
    """Listens to every topic for some seconds and writes the draft."""

    def __init__(self) -> None:
        """Start listening; BagError where the file exists."""
        super().__init__('rig_draft')
        self._out = Path(declare(self, 'out', 'rig.yaml', 'file that gets the draft'))
        self._name = declare(self, 'rig_name', 'rig', 'name of the rig')
        seconds = declare(self, 'seconds', 5.0, 'how long to listen, s', low=0.5, high=600.0)
        if self._out.exists():
            raise BagError(f'{self._out}: exists; a draft never replaces a file')
        self._seen: dict[str, Observed] = {}
        self.create_timer(_LOOK_S, self._look)
        self.create_timer(seconds, self._write)
        self._look()

    def _look(self) -> None:
        for topic, types in self.get_topic_names_and_types():
            if topic in self._seen or topic in _LEFT_OUT or not self.count_publishers(topic):
                continue
            self._seen[topic] = Observed(topic, types[0])
            try:
                package, kind, name = types[0].split('/')
                type_ = getattr(importlib.import_module(f'{package}.{kind}'), name)
            except (AttributeError, ImportError, ValueError):
                self.get_logger().warning(f'{topic}: the type {types[0]} is not installed here')
                continue
            self.create_subscription(
                type_,
                topic,
                lambda data, topic=topic, type_=type_: self._take(topic, type_, data),
                SENSOR,
                raw=True,
            )

    def _take(self, topic: str, type_: Any, data: bytes) -> None:
        seen = self._seen[topic]
        if len(seen.log_ns) >= SAMPLES:
            return
        seen.log_ns.append(self.get_clock().now().nanoseconds)
        if 'header' in type_.get_fields_and_field_types():
            stamp = header_stamp_ns(data)
            if stamp is not None:
                seen.header_ns.append(stamp)
        if seen.type in JOINT_TYPES:
            message = deserialize_message(data, type_)
            names = getattr(message, 'name', ()) or getattr(message, 'joint_names', ())
            seen.joints.update({str(name): None for name in names})

    def _write(self) -> None:
        self._out.write_text(draft_text(self._name, self._seen.values()), encoding='utf-8')
        self.get_logger().info(f'wrote {self._out}: check its roles and add limits')
        raise SystemExit(0)


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(RigDraftNode, args=args)


if __name__ == '__main__':
    sys.exit(main())

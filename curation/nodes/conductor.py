# Copyright 2026 teleop_flywheel developers
# SPDX-License-Identifier: Apache-2.0
"""The hands of the demo's script: calls the services that a person at the rig would call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
import time
from types import TracebackType
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger
from teleop_flywheel.srv import EndEpisode, LabelIntervention, StartEpisode

from curation.exceptions import DemoError, NotArmedError
from teleop_bridge.vocabulary import Grade, InterventionKind

LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
ANSWER_S = 30.0   # a service's answer: ending an episode closes a bag
STARTUP_S = 60.0  # a simulator compiles its model and warms its renderer
DISCOVERY_S = 1.0  # within which nodes of a domain find each other on one machine


def find_free_domain(candidates: Iterable[int]) -> int:
    """Return the first of these ROS domains in which no node is; raises DemoError if all are used.

    Nodes of another program in ours would end up in our bags.
    """
    tried = []
    for domain_id in candidates:
        context = Context()
        rclpy.init(context=context, domain_id=domain_id)
        node = rclpy.create_node('demo_probe', context=context)
        time.sleep(DISCOVERY_S)
        others = [name for name in node.get_node_names() if name != node.get_name()]
        node.destroy_node()
        context.try_shutdown()
        if not others:
            return domain_id
        tried.append(domain_id)
    raise DemoError(f'ROS domains {tried}: expected a free one, found nodes in each')


class Conductor:
    """A node without a thread of its own: it spins while it waits, and watches meanwhile."""

    def __init__(self, *, domain_id: int, watch: Callable[[], None]) -> None:
        """Join a ROS domain; ``watch`` is called while waiting and raises to end the wait."""
        self._watch = watch
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain_id)
        self._node = rclpy.create_node('demo', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._operator = ''
        self._solved = False
        self._node.create_subscription(String, 'sim_operator/status', self._on_operator, LATCHED)
        self._node.create_subscription(Bool, 'sim/solved', self._on_solved, LATCHED)

    def wait_for(self, seconds: float, what: str, until: Callable[[], bool]) -> None:
        """Spin until a condition holds; raises DemoError saying what was waited for."""
        deadline = time.monotonic() + seconds
        while not until():
            if time.monotonic() > deadline:
                raise DemoError(f'{what}: expected within {seconds:g} s, waited in vain')
            self._executor.spin_once(timeout_sec=0.05)
            self._watch()

    def rest(self, seconds: float) -> None:
        """Let time pass."""
        end = time.monotonic() + seconds
        self.wait_for(seconds + 1.0, 'time to pass', lambda: time.monotonic() >= end)

    def trigger(self, service: str) -> str:
        """Call a std_srvs/Trigger service; returns its message, raises DemoError if it refuses."""
        return str(self._call(Trigger, service, Trigger.Request()).message)

    def start_episode(self, *, task: str, location: str, note: str) -> Path:
        """Start recording, patiently while streams come up; returns the bag's folder.

        Raises NotArmedError where they don't.
        """
        request = StartEpisode.Request(task=task, location=location, note=note)
        deadline = time.monotonic() + STARTUP_S
        while True:
            try:
                return Path(self._call(StartEpisode, 'recorder/start', request).bag)
            except DemoError as error:
                if time.monotonic() > deadline:
                    raise NotArmedError(str(error)) from error
                self.rest(1.0)

    def end_episode(self, grade: Grade, note: str) -> tuple[Path, str]:
        """End the episode with its grade; returns the closed bag's folder and the episode's id."""
        request = EndEpisode.Request(grade=grade.value, note=note)
        answer = self._call(EndEpisode, 'recorder/end', request)
        return Path(answer.bag), str(answer.episode_id)

    def label_intervention(self, kind: InterventionKind, reason: str, note: str) -> None:
        """Name why the operator took over, for the latest intervention."""
        request = LabelIntervention.Request(kind=kind.value, reason=reason, note=note)
        self._call(LabelIntervention, 'intervention/label', request)

    def set_parameters(self, node: str, **values: Any) -> None:
        """Set parameters of another node; raises DemoError naming the one that is refused."""
        client = AsyncParameterClient(self._node, node)
        self.wait_for(STARTUP_S, f'parameters of {node}', client.services_are_ready)
        names = list(values)
        future = client.set_parameters([Parameter(name, value=values[name]) for name in names])
        self.wait_for(ANSWER_S, f'an answer from {node}', future.done)
        for name, result in zip(names, future.result().results, strict=True):
            if not result.successful:
                raise DemoError(f'{node}: parameter {name} was refused: {result.reason}')

    def operator_status(self) -> str:
        """Return what the scripted operator last said of itself."""
        return self._operator

    def solved(self) -> bool:
        """Return whether the simulation sees the cube in the bin."""
        return self._solved

    def __enter__(self) -> Conductor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def _call(self, kind: Any, service: str, request: Any) -> Any:
        client = self._node.create_client(kind, service)
        try:
            self.wait_for(STARTUP_S, f'service {service}', client.service_is_ready)
            future = client.call_async(request)
            self.wait_for(ANSWER_S, f'an answer from {service}', future.done)
        finally:
            self._node.destroy_client(client)
        answer = future.result()
        if not answer.success:
            raise DemoError(f'{service} refused: {answer.message}')
        return answer

    def _on_operator(self, message: String) -> None:
        self._operator = message.data

    def _on_solved(self, message: Bool) -> None:
        self._solved = message.data
